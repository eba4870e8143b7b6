from django.apps import AppConfig


class PeerConfig(AppConfig):
    name = "peer"

    def ready(self):
        from . import receivers, worker  # noqa: F401
