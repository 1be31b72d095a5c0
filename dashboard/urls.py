"""Addresses of the pages: each folder of `dashboard/pages/` brings its own."""

from importlib import import_module
from pkgutil import iter_modules

from dashboard import pages

app_name = "dashboard"

urlpatterns = [
    address
    for page in iter_modules(pages.__path__)
    for address in import_module(f"{pages.__name__}.{page.name}.views").urlpatterns
]
