"""Pure statistics: functions of plain values that return frozen dataclasses."""
