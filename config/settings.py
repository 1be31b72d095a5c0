"""All settings, read once from the environment. Nothing secret has a default."""

from pathlib import Path
from typing import Any

import dj_database_url
from csp.constants import NONE, SELF
from kombu import Queue

from benchmarks.monitoring.tracing import JsonLines, Traced
from config import env

BASE_DIR = Path(__file__).resolve().parent.parent
DASHBOARD = BASE_DIR / "dashboard"
VERSION = (BASE_DIR / "VERSION").read_text().strip()
VAR = Path(env.text("VIRTLAB_VAR", str(BASE_DIR / "var"))).resolve()

SECRET_KEY = env.text("SECRET_KEY")
DEBUG = env.flag("DEBUG", default=False)
ALLOWED_HOSTS = env.words("ALLOWED_HOSTS", "127.0.0.1,localhost,[::1]")
# Addresses of proxies whose word is taken for where a request comes from.
TRUSTED_PROXIES = env.networks("TRUSTED_PROXIES", "")
# Ports of a proxy that browsers see, beside our own, 80 and 443.
ALLOWED_PORTS = env.words("ALLOWED_PORTS", "")
CSRF_TRUSTED_ORIGINS = env.words("CSRF_TRUSTED_ORIGINS", "")

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
    "config.middleware.requests",
    "config.middleware.bounds",
    "config.replicas.noting",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "config.middleware.compression",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "config.middleware.persons",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "dashboard.kit.hooks.SecondFactorMiddleware",
    "config.replicas.reading",
    "dashboard.kit.hooks.ButtonAddressMiddleware",
    "dashboard.kit.hooks.BusyMiddleware",
]

ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        # A page's templates lie in its folder, with its code.
        "DIRS": [DASHBOARD / "pages", DASHBOARD / "kit" / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "dashboard.pages.overview.tour.tour",
            ]
        },
    }
]

# PostgreSQL is the only database. Connections live as long as their thread and are
# checked before use, so that a restarted server costs one reconnect and no error.
_CONNECTION: dict[str, Any] = {
    "engine": "config.postgresql",
    "conn_max_age": 600,
    "conn_health_checks": True,
}
DATABASES = {"default": dj_database_url.parse(env.text("DATABASE_URL"), **_CONNECTION)}
# Who owns the tables, where the role of DATABASE_URL does not: for `prepare` alone.
OWNER_DATABASE_URL = env.text("OWNER_DATABASE_URL", "")

# A standby of the same PostgreSQL, from which pages and exports are read, and how old
# it may be. Without one all is read where it is written.
REPLICA_LAG_S = env.whole_number("REPLICA_LAG_S", 10)
if _replica := env.text("REPLICA_DATABASE_URL", ""):
    DATABASES["replica"] = dj_database_url.parse(_replica, **_CONNECTION)
    # A reader does not wait for a machine that is away: the primary has it all.
    DATABASES["replica"].setdefault("OPTIONS", {}).setdefault("connect_timeout", 2)

# How long PostgreSQL works for a request, and waits for a lock: then 503.
WEB_STATEMENT_TIMEOUT_S = env.whole_number("WEB_STATEMENT_TIMEOUT_S", 30)
WEB_LOCK_TIMEOUT_S = env.whole_number("WEB_LOCK_TIMEOUT_S", 10)

# Redis carries wake-up hints only: the outbox in PostgreSQL is the truth.
REDIS_URL = env.text("REDIS_URL")
CELERY_BROKER_URL = env.broker_url(REDIS_URL)
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "visibility_timeout": 600,
    "socket_timeout": 5,
    "socket_connect_timeout": 2,
}
# A worker without -Q takes both. What nobody waits for, or may take long, is bulk.
CELERY_TASK_QUEUES = [Queue("interactive"), Queue("bulk")]
CELERY_TASK_DEFAULT_QUEUE = "interactive"
CELERY_TASK_ROUTES = {"benchmarks.tasks.drain_bulk": {"queue": "bulk"}}
# How many processes of a machine's workers take uploads in bulk at once: fewer than
# there are, so that one is free for those that come alone.
BULK_PROCESSES = env.whole_number("BULK_PROCESSES", 1)
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_TIME_LIMIT = 240
CELERY_TASK_SOFT_TIME_LIMIT = 200
# A child that has grown, or done much, makes room for a fresh one between two tasks.
CELERY_WORKER_MAX_TASKS_PER_CHILD = env.whole_number("WORKER_TASKS", 5_000)
CELERY_WORKER_MAX_MEMORY_PER_CHILD = env.whole_number("WORKER_MEMORY_KIB", 600_000)
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TASK_SERIALIZER = "json"

# Parts of pages under a key that names what they were made from, in each process's own
# memory: a page needs no Redis, and a new process of a new version starts with nothing.
CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.locmem.LocMemCache",
        "OPTIONS": {"MAX_ENTRIES": 32},
    }
}

LANGUAGE_CODE = "en"
# What is translated, and forms of it. The language of a page decides how it writes
# numbers and days, too.
LANGUAGES = [("en", "English"), ("en-gb", "English (UK)")]
LOCALE_PATHS = [BASE_DIR / "locale"]
TIME_ZONE = "UTC"
USE_TZ = True

STATIC_URL = "/static/"
STATIC_ROOT = VAR / "static"
# "compare/grid.js" is `static/grid.js` in the folder of that page.
STATICFILES_DIRS = [
    (path.parent.name, path)
    for path in [DASHBOARD / "kit" / "static", *DASHBOARD.glob("pages/*/static")]
]
STATICFILES_FINDERS = [
    "django.contrib.staticfiles.finders.FileSystemFinder",
    "django.contrib.staticfiles.finders.AppDirectoriesFinder",
    "dashboard.kit.hooks.PlotlyFinder",
]
# Of the packages we serve files from, what no page of ours uses.
STATICFILES_LEFT_OUT = [
    *("redoc", "rest_framework", "ext", "*es-bundle*"),
    *("account/js", "mfa"),  # of allauth
]
WHITENOISE_KEEP_ONLY_HASHED_FILES = True
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"
    },
}

LOGIN_URL = "dashboard:login"
LOGIN_REDIRECT_URL = "dashboard:overview"
LOGOUT_REDIRECT_URL = "dashboard:overview"
PASSWORD_HASHERS = ["config.hashing.BoundedHasher"]
AUTH_PASSWORD_VALIDATORS = [
    {
        "NAME": "django.contrib.auth.password_validation.MinimumLengthValidator",
        "OPTIONS": {"min_length": 12},
    },
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]

# Sign-in by allauth, with our templates, throttle (`labs/throttle`) and audit log.
ACCOUNT_ADAPTER = "dashboard.pages.account.adapters.OneWayIn"
SOCIALACCOUNT_ADAPTER = "dashboard.pages.account.adapters.Provider"
MFA_ADAPTER = "dashboard.pages.account.adapters.Factors"
ACCOUNT_RATE_LIMITS = False
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_SIGNUP_FIELDS = ["username*", "password1*"]
ACCOUNT_LOGIN_TIMEOUT = 600
ACCOUNT_SESSION_REMEMBER = True
MFA_ALLOW_UNVERIFIED_EMAIL = True
MFA_SUPPORTED_TYPES = ["totp", "webauthn", "recovery_codes"]
MFA_TOTP_TOLERANCE = 1
MFA_TOTP_ISSUER = "Virtlab"

# A provider of OpenID Connect, beside passwords; without an issuer there is none.
OIDC = env.oidc()
SOCIALACCOUNT_REQUESTS_TIMEOUT = 10
SOCIALACCOUNT_PROVIDERS = {"openid_connect": {"APPS": [OIDC.app] if OIDC else []}}

# HTTPS is the reverse proxy's work; behind one, say so with HTTPS=on.
HTTPS = env.flag("HTTPS", default=False)
SESSION_ENGINE = "config.sessions"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = HTTPS
SECURE_SSL_REDIRECT = HTTPS
SECURE_HSTS_SECONDS = 31_536_000 if HTTPS else 0
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if HTTPS else None
SECURE_REFERRER_POLICY = "same-origin"
# Asked from inside, by what speaks no HTTPS.
SECURE_REDIRECT_EXEMPT = [r"^metrics$", r"^api/v1/(health|ready|time)/$"]
X_FRAME_OPTIONS = "DENY"

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [SELF],
        # Plotly and the docs page draw small images from data and blob addresses.
        "img-src": [SELF, "data:", "blob:"],
        "object-src": [NONE],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
        "form-action": [SELF],
    }
}

# Mail goes out where there is a server for it; without one people are given links.
EMAIL = env.email()
SITE_URL = EMAIL.site if EMAIL else ""
EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
EMAIL_TIMEOUT = 20
if EMAIL:
    EMAIL_HOST, EMAIL_PORT = EMAIL.host, EMAIL.port
    EMAIL_HOST_USER, EMAIL_HOST_PASSWORD = EMAIL.user, EMAIL.password
    EMAIL_USE_TLS, EMAIL_USE_SSL = EMAIL.security == "starttls", EMAIL.security == "tls"
    DEFAULT_FROM_EMAIL = EMAIL.sender
PASSWORD_RESET_TIMEOUT = 4 * 3600

# Who makes labs, beside `manage.py create_lab`: nobody else, admins of a lab, or
# everybody who has an account or a token that may upload.
LABS_MADE_BY = env.one_of("LABS_MADE_BY", ("admins", "nobody", "everybody"))

# Whether webhooks may lead into private networks and to this machine itself.
WEBHOOK_PRIVATE_ADDRESSES = env.flag("WEBHOOK_PRIVATE_ADDRESSES", default=False)

UPLOAD_LIMIT_BYTES = env.whole_number("UPLOAD_LIMIT_BYTES", 8 * 1024 * 1024)
# What a lab may send and keep, and a network preview; 0 is without limit.
LAB_RUNS_PER_MINUTE = env.whole_number("LAB_RUNS_PER_MINUTE", 600_000)
LAB_BYTES_PER_DAY = env.whole_number("LAB_BYTES_PER_DAY", 50_000_000_000)
LAB_BYTES_STORED = env.whole_number("LAB_BYTES_STORED", 0)
LAB_PREVIEWS_PER_MINUTE = env.whole_number("LAB_PREVIEWS_PER_MINUTE", 3_000)
PREVIEWS_PER_MINUTE = env.whole_number("PREVIEWS_PER_MINUTE", 120)
PREVIEW_LIMIT_CHARACTERS = env.whole_number("PREVIEW_LIMIT_CHARACTERS", 2_000_000)
UPLOAD_LIMIT_RATIO = 100
# Who knows what a document in a bundle may hold: the API, which no page calls.
BUNDLE_DOCUMENTS = "api.bundles.store_documents"
BULK_LIMIT_LINES = 10_000

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "api.kit.authentication.TokenAuthentication",
        "api.kit.authentication.SessionReading",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["api.kit.authentication.Scoped"],
    "DEFAULT_PARSER_CLASSES": ["api.kit.parsing.StrictJSONParser"],
    "DEFAULT_RENDERER_CLASSES": ["api.kit.parsing.ORJSONRenderer"],
    "DEFAULT_PAGINATION_CLASS": "api.kit.queries.IdCursor",
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "api.kit.errors.answer",
    "URL_FORMAT_OVERRIDE": None,
}

SPECTACULAR_SETTINGS = {
    "TITLE": "Virtlab API",
    "DESCRIPTION": "Upload benchmark runs and read what a hypervisor costs.",
    "VERSION": VERSION,
    "SERVE_INCLUDE_SCHEMA": False,
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "REDOC_DIST": "SIDECAR",
    "COMPONENT_SPLIT_REQUEST": True,
    "COMPONENT_SPLIT_PATCH": False,
    # Values stay where they are used: named enumerations collide over "status".
    "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
    "POSTPROCESSING_HOOKS": ["api.kit.schema.without_private_marks"],
}

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {"traced": {"()": Traced}},
    "formatters": {
        # The id of the request or task precedes the message.
        "line": {
            "format": "%(asctime)s %(levelname)s %(name)s [%(request_id)s] %(message)s"
        },
        "json": {"()": JsonLines},
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

# Who reads /metrics shows it; without one there is no such address.
METRICS_TOKEN = env.text("METRICS_TOKEN", "")
# Where the worker and the sweeper serve their own counters; 0: nowhere. Under
# `make run` those of all processes stand in one folder, and web serves them.
METRICS_PORT = env.whole_number("METRICS_PORT", 0)

# How long a web process works on one file of `/api/v1/data/`, and where it lies until
# it is sent: on a disk, for `/tmp` is often memory.
DATA_TIMEOUT_S = env.whole_number("DATA_TIMEOUT_S", 600)
DATA_FOLDER = Path(env.text("DATA_FOLDER", str(VAR / "exports")))
