from benchmarks import tools


def tools_for(work: str) -> tuple[str, ...]:
    return tuple(
        sorted(
            tool.title
            for tool in tools.TOOLS.values()
            if any(
                work in metric.work_classes for metric in tool.primary_metrics.values()
            )
        )
    )
