"""Addresses: the API under one version prefix, pages everywhere else."""

from django.urls import include, path

urlpatterns = [
    path("api/v1/", include("api.urls")),
    path("", include("dashboard.urls")),
]
