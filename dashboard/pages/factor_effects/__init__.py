"""What moved the efficiency: ranked effects, interaction plots, half-normal plot."""
