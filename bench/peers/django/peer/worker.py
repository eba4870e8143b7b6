"""The enrichment: a Celery task for each stored event."""

import os
from urllib.parse import quote

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "peer.settings")

from celery import Celery
from celery.signals import worker_ready
from django.conf import settings
from django.utils import timezone

app = Celery("peer")
app.conf.update(
    broker_url=settings.CELERY_BROKER_URL,
    task_ignore_result=True,
    worker_prefetch_multiplier=64,
    worker_hijack_root_logger=False,
    imports=["peer.worker"],
)

http = None


@worker_ready.connect
def say_ready(**kwargs):
    print("the peer's worker is ready", flush=True)


@app.task(bind=True, name="enrich", max_retries=3, default_retry_delay=30)
def enrich(self, pk):
    from .models import EmailEvent

    row = EmailEvent.objects.get(pk=pk)
    if settings.SENDGRID_API_URL:
        answer = session().get(
            f"{settings.SENDGRID_API_URL}/v3/messages/{quote(row.message_id, safe='')}",
            headers={"Authorization": f"Bearer {settings.SENDGRID_API_KEY}"},
            timeout=30,
        )
        if answer.status_code == 429:
            raise self.retry()
        answer.raise_for_status()
        message = answer.json()
        row.subject, row.sender, row.status = message["subject"], message["from_email"], message["status"]
    row.enriched_at = timezone.now()
    row.save(update_fields=["subject", "sender", "status", "enriched_at"])


def session():
    """One connection for each worker process."""
    global http
    if http is None:
        import requests

        http = requests.Session()
    return http
