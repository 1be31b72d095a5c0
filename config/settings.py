"""All settings, from the environment. Secrets have no defaults."""

from pathlib import Path
from typing import Any

import dj_database_url
from csp.constants import NONE, SELF
from kombu import Queue

from benchmarks.monitoring.json_logs import JsonFormatter
from benchmarks.monitoring.request_ids import RequestIdFilter
from config import env

BASE_DIR = Path(__file__).resolve().parent.parent
DASHBOARD_DIR = BASE_DIR / "dashboard"
VERSION = (BASE_DIR / "VERSION").read_text().strip()
VAR_DIR = Path(env.text("VIRTLAB_VAR", str(BASE_DIR / "var"))).resolve()

SECRET_KEY = env.text("SECRET_KEY")
# Signs the agent's packages; SECRET_KEY does if it is empty.
AGENT_SIGNING_KEY = env.text("AGENT_SIGNING_KEY", "")
DEBUG = env.flag("DEBUG", default=False)
ALLOWED_HOSTS = env.text_list("ALLOWED_HOSTS", "127.0.0.1,localhost,[::1]")
# Addresses of proxies whose X-Forwarded-For is trusted.
TRUSTED_PROXIES = env.networks("TRUSTED_PROXIES", "")
# Ports of a proxy that browsers see, besides our own, 80 and 443.
ALLOWED_PORTS = env.text_list("ALLOWED_PORTS", "")
CSRF_TRUSTED_ORIGINS = env.text_list("CSRF_TRUSTED_ORIGINS", "")

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.postgres",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "django_htmx",
    "csp",
    "allauth",
    "allauth.account",
    "allauth.socialaccount",
    "allauth.socialaccount.providers.openid_connect",
    "allauth.mfa",
    "benchmarks",
    "api",
    "dashboard",
]

MIDDLEWARE = [
    "config.middleware.request_ids",
    "config.middleware.request_checks",
    "config.replica_middleware.record_write_position",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "config.middleware.compression",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "config.middleware.PageLanguageMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "config.middleware.current_user",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "dashboard.kit.middleware.SecondFactorMiddleware",
    "config.replica_middleware.read_from_replica",
    "dashboard.kit.middleware.MethodNotAllowedPageMiddleware",
    "dashboard.kit.middleware.ErrorPageMiddleware",
]

ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [DASHBOARD_DIR / "pages", DASHBOARD_DIR / "kit" / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "dashboard.pages.home.tour.tour_context",
            ]
        },
    }
]

# Connections live up to ten minutes, and are checked before use, because the server may
# have restarted.
_CONNECTION: dict[str, Any] = {
    "engine": "config.postgresql",
    "conn_max_age": 600,
    "conn_health_checks": True,
}
DATABASES = {"default": dj_database_url.parse(env.text("DATABASE_URL"), **_CONNECTION)}
# For `prepare` alone: the tables' owner, if it is not the role of DATABASE_URL.
OWNER_DATABASE_URL = env.text("OWNER_DATABASE_URL", "")

# Pages and exports are read from a standby that is at most this far behind (seconds).
REPLICA_MAX_LAG_S = env.whole_number("REPLICA_MAX_LAG_S", 10)
if _replica := env.text("REPLICA_DATABASE_URL", ""):
    DATABASES["replica"] = dj_database_url.parse(_replica, **_CONNECTION)
    # A short timeout, because the primary answers if the standby is lost.
    DATABASES["replica"].setdefault("OPTIONS", {}).setdefault("connect_timeout", 2)

# Requests that take longer get status 503.
WEB_STATEMENT_TIMEOUT_S = env.whole_number("WEB_STATEMENT_TIMEOUT_S", 30)
WEB_LOCK_TIMEOUT_S = env.whole_number("WEB_LOCK_TIMEOUT_S", 10)

# Redis carries only wake-up hints; the outbox in PostgreSQL is authoritative.
REDIS_URL = env.text("REDIS_URL")
CELERY_BROKER_URL = env.broker_url(REDIS_URL)
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "visibility_timeout": 600,
    "socket_timeout": 5,
    "socket_connect_timeout": 2,
}
# A worker without -Q serves both queues.
CELERY_TASK_QUEUES = [Queue("interactive"), Queue("bulk")]
CELERY_TASK_DEFAULT_QUEUE = "interactive"
CELERY_TASK_ROUTES = {"benchmarks.tasks.process_bulk_uploads": {"queue": "bulk"}}
# Maximum number of a machine's worker processes for bulk uploads. Use fewer than there
# are, so that one remains for interactive uploads.
BULK_WORKERS = env.whole_number("BULK_WORKERS", 1)
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_TIME_LIMIT = 240
CELERY_TASK_SOFT_TIME_LIMIT = 200
# Processes that have grown or done many tasks are replaced between two tasks.
CELERY_WORKER_MAX_TASKS_PER_CHILD = env.whole_number("WORKER_MAX_TASKS", 5_000)
CELERY_WORKER_MAX_MEMORY_PER_CHILD = env.whole_number("WORKER_MAX_MEMORY_KIB", 200_000)
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TASK_SERIALIZER = "json"

# In each process's own memory: pages do not need Redis, and a new version starts with
# an empty cache.
CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.locmem.LocMemCache",
        "OPTIONS": {"MAX_ENTRIES": 32},
    }
}

LANGUAGE_CODE = "en"
# Only languages whose catalog in `locale/` is nearly complete (`COMPLETE_FROM` in
# dashboard/management/commands/update_translation.py).
LANGUAGES = [("en", "English"), ("de", "Deutsch"), ("es", "Español")]
LANGUAGE_COOKIE_AGE = 365 * 24 * 60 * 60
LANGUAGE_COOKIE_HTTPONLY = True
LOCALE_PATHS = [BASE_DIR / "locale"]
TIME_ZONE = "UTC"
USE_TZ = True

STATIC_URL = "/static/"
STATIC_ROOT = VAR_DIR / "static"
# "compare/grid-keys.js" is `static/grid-keys.js` in the folder of the page `compare`.
STATICFILES_DIRS = [
    (path.parent.name, path)
    for path in [
        DASHBOARD_DIR / "kit" / "static",
        *DASHBOARD_DIR.glob("pages/*/static"),
    ]
]
STATICFILES_FINDERS = [
    "django.contrib.staticfiles.finders.FileSystemFinder",
    "django.contrib.staticfiles.finders.AppDirectoriesFinder",
    "dashboard.kit.plotly_finder.PlotlyFinder",
]
# Files of installed packages that are not used.
STATICFILES_EXCLUDED = [
    *("redoc", "rest_framework", "ext", "*es-bundle*"),
    *("account/js", "mfa"),  # from allauth
]
WHITENOISE_KEEP_ONLY_HASHED_FILES = True
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"
    },
}

LOGIN_URL = "dashboard:login"
LOGIN_REDIRECT_URL = "dashboard:home"
LOGOUT_REDIRECT_URL = "dashboard:home"
PASSWORD_HASHERS = ["config.password_hashing.BoundedHasher"]
AUTH_PASSWORD_VALIDATORS = [
    {
        "NAME": "django.contrib.auth.password_validation.MinimumLengthValidator",
        "OPTIONS": {"min_length": 12},
    },
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]

# Sign-in by allauth, with our templates, rate limits (`labs/sign_in_throttle`) and
# audit log.
ACCOUNT_ADAPTER = "dashboard.pages.account.adapters.AccountAdapter"
SOCIALACCOUNT_ADAPTER = "dashboard.pages.account.adapters.SocialAccountAdapter"
MFA_ADAPTER = "dashboard.pages.account.adapters.SecondFactorAdapter"
ACCOUNT_RATE_LIMITS = False
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_SIGNUP_FIELDS = ["username*", "password1*"]
ACCOUNT_LOGIN_TIMEOUT = 600
ACCOUNT_SESSION_REMEMBER = True
MFA_ALLOW_UNVERIFIED_EMAIL = True
MFA_SUPPORTED_TYPES = ["totp", "webauthn", "recovery_codes"]
MFA_TOTP_TOLERANCE = 1
MFA_TOTP_ISSUER = "Virtlab"

# A way to sign in besides passwords; None without an issuer.
OIDC_PROVIDER = env.oidc_provider()
SOCIALACCOUNT_REQUESTS_TIMEOUT = 10
SOCIALACCOUNT_PROVIDERS = {
    "openid_connect": {"APPS": [OIDC_PROVIDER.app] if OIDC_PROVIDER else []}
}

# For a reverse proxy that terminates HTTPS.
HTTPS = env.flag("HTTPS", default=False)
SESSION_ENGINE = "config.session_store"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = LANGUAGE_COOKIE_SECURE = HTTPS
SECURE_SSL_REDIRECT = HTTPS
SECURE_HSTS_SECONDS = 31_536_000 if HTTPS else 0
# HSTS for subdomains and preload lists concern other sites of the domain's owner.
SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W021"]
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if HTTPS else None
SECURE_REFERRER_POLICY = "same-origin"
# Called without HTTPS from inside the network.
SECURE_REDIRECT_EXEMPT = [r"^metrics$", r"^api/v1/(health|ready|time)/$"]
X_FRAME_OPTIONS = "DENY"

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [SELF],
        # Plotly and the API documentation draw images.
        "img-src": [SELF, "data:", "blob:"],
        "object-src": [NONE],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
        "form-action": [SELF],
    }
}

# Without a mail server, users pass on invitation links themselves.
MAIL_SERVER = env.mail_server()
SITE_URL = MAIL_SERVER.site if MAIL_SERVER else ""
EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
EMAIL_TIMEOUT = 20
if MAIL_SERVER:
    EMAIL_HOST, EMAIL_PORT = MAIL_SERVER.host, MAIL_SERVER.port
    EMAIL_HOST_USER, EMAIL_HOST_PASSWORD = MAIL_SERVER.user, MAIL_SERVER.password
    EMAIL_USE_TLS, EMAIL_USE_SSL = (
        MAIL_SERVER.security == "starttls",
        MAIL_SERVER.security == "tls",
    )
    DEFAULT_FROM_EMAIL = MAIL_SERVER.sender
PASSWORD_RESET_TIMEOUT = 4 * 3600

# People who may create labs without `manage.py create_lab`: admins of a lab, nobody, or
# everybody with an account or a token for uploads.
LAB_CREATION = env.choice("LAB_CREATION", ("admins", "nobody", "everybody"))

WEBHOOK_PRIVATE_ADDRESSES = env.flag("WEBHOOK_PRIVATE_ADDRESSES", default=False)

UPLOAD_LIMIT_BYTES = env.whole_number("UPLOAD_LIMIT_BYTES", 8 * 1024 * 1024)
# Quotas; 0 means unlimited.
LAB_RUNS_PER_MINUTE = env.whole_number("LAB_RUNS_PER_MINUTE", 600_000)
LAB_BYTES_PER_DAY = env.whole_number("LAB_BYTES_PER_DAY", 50_000_000_000)
LAB_BYTES_STORED = env.whole_number("LAB_BYTES_STORED", 0)
LAB_STUDIES_PER_DAY = env.whole_number("LAB_STUDIES_PER_DAY", 200)
LAB_PREVIEWS_PER_MINUTE = env.whole_number("LAB_PREVIEWS_PER_MINUTE", 3_000)
PREVIEWS_PER_MINUTE = env.whole_number("PREVIEWS_PER_MINUTE", 120)
PREVIEW_CPU_S_PER_MINUTE = env.whole_number("PREVIEW_CPU_S_PER_MINUTE", 15)
PREVIEW_LIMIT_CHARACTERS = env.whole_number("PREVIEW_LIMIT_CHARACTERS", 2_000_000)
UPLOAD_LIMIT_RATIO = 100
# By name, because pages import bundles but must not import the API.
BUNDLE_IMPORTER = "api.bundles.store_documents"
STUDY_FILE_IMPORTER = "api.study_import.store_study_file"
BULK_LIMIT_LINES = 10_000

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "api.kit.authentication.TokenAuthentication",
        "api.kit.authentication.ReadOnlySessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["api.kit.authentication.TokenScopePermission"],
    "DEFAULT_PARSER_CLASSES": ["api.kit.strict_json.StrictJSONParser"],
    "DEFAULT_RENDERER_CLASSES": ["api.kit.strict_json.ORJSONRenderer"],
    "DEFAULT_PAGINATION_CLASS": "api.kit.query_parameters.IdCursorPagination",
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "api.kit.errors.handle_exception",
    "URL_FORMAT_OVERRIDE": None,
}

SPECTACULAR_SETTINGS = {
    "TITLE": "Virtlab API",
    "DESCRIPTION": "Upload benchmark results of hypervisors and compare them.",
    "VERSION": VERSION,
    "SERVE_INCLUDE_SCHEMA": False,
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "REDOC_DIST": "SIDECAR",
    "COMPONENT_SPLIT_REQUEST": True,
    "COMPONENT_SPLIT_PATCH": False,
    # Enumerations named by their fields would collide over "status".
    "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
    "POSTPROCESSING_HOOKS": ["api.kit.schema.remove_internal_keys"],
}

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {"traced": {"()": RequestIdFilter}},
    "formatters": {
        "line": {
            "format": "%(asctime)s %(levelname)s %(name)s [%(request_id)s] %(message)s"
        },
        "json": {"()": JsonFormatter},
    },
    "handlers": {
        "stderr": {
            "class": "logging.StreamHandler",
            "formatter": env.log_format(),
            "filters": ["traced"],
        }
    },
    "root": {"handlers": ["stderr"], "level": "INFO"},
    # Waitress warns about every request that waits for a thread, however briefly.
    "loggers": {"waitress.queue": {"level": "ERROR"}},
}

# Without a token, /metrics returns 404.
METRICS_TOKEN = env.text("METRICS_TOKEN", "")
# The port on which worker and sweeper serve their counters; 0 for none. With `make run`
# all processes share a folder of counters, which the web server serves.
METRICS_PORT = env.whole_number("METRICS_PORT", 0)

# For files of `/api/v1/data/`. The folder should be on a disk: `/tmp` is often in
# memory.
EXPORT_TIMEOUT_S = env.whole_number("EXPORT_TIMEOUT_S", 600)
EXPORT_FOLDER = Path(env.text("EXPORT_FOLDER", str(VAR_DIR / "exports")))
