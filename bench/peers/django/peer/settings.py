"""The peer's settings: those of production, chosen in its favour. What differs from run to run comes from the environment."""

import os
import secrets

SECRET_KEY = secrets.token_urlsafe(50)
DEBUG = False
ALLOWED_HOSTS = ["*"]
USE_TZ = True
TIME_ZONE = "UTC"
ROOT_URLCONF = "peer.urls"
WSGI_APPLICATION = "peer.wsgi.application"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
INSTALLED_APPS = ["anymail", "peer.apps.PeerConfig"] if os.environ["PEER_FRONT"] == "anymail" else ["peer.apps.PeerConfig"]
# No sessions, no users, no CSRF: a webhook needs none of them, and each would cost time.
MIDDLEWARE = []
DATA_UPLOAD_MAX_MEMORY_SIZE = 5 * 1024 * 1024
LOGGING_CONFIG = None

DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": "peer",
        "USER": "peer",
        "HOST": os.environ["PEER_DATABASE_SOCKET"],
        # Connections are kept: opening one for each request would take longer than the request.
        "CONN_MAX_AGE": None,
    }
}

WEBHOOK_PUBLIC_KEY = os.environ["PEER_PUBLIC_KEY"]
# Empty: the task does its work in the database and asks nobody, as if SendGrid answered at once.
SENDGRID_API_URL = os.environ.get("PEER_API_URL", "")
SENDGRID_API_KEY = os.environ.get("PEER_API_KEY", "")
CELERY_BROKER_URL = "redis+socket://" + os.environ["PEER_REDIS_SOCKET"]
