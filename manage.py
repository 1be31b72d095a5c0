#!/usr/bin/env python
"""Run a management command of the product."""

import os
import sys


def main() -> None:
    """Hand the command line to Django."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    from django.core.management import execute_from_command_line

    from config.celery import app as celery_app

    celery_app.set_default()  # the sweeper's hints find their broker through it
    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
