"""Addresses: the API under one version prefix, pages everywhere else."""

from django.urls import include, path

urlpatterns = [
    path("api/v1/", include("api.urls")),
    path("agent/", include("config.agent_files")),
    path("", include("dashboard.urls")),
    path("", include("dashboard.moved")),
]
