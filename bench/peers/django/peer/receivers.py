"""What happens to an event, inside the web request: stored once in a transaction, enrichment after its commit."""

import time
from datetime import datetime, timezone
from functools import partial

from django.conf import settings
from django.db import OperationalError, transaction
from django.dispatch import receiver

from .models import EmailEvent
from .signals import email_event
from .worker import enrich

DEADLOCK_DETECTED = "40P01"
RETRIES_MAX = 5
RETRY_SECONDS = 0.5


@receiver(email_event)
def store(sender, event, **kwargs):
    for attempt in range(RETRIES_MAX + 1):
        try:
            store_once(event)
            return
        except OperationalError as error:
            # Only a deadlock is tried again, after a wait that grows; anything else is the caller's to see.
            if getattr(error.__cause__, "pgcode", None) != DEADLOCK_DETECTED or attempt == RETRIES_MAX:
                raise
            time.sleep(RETRY_SECONDS * (attempt + 1))


def store_once(event):
    with transaction.atomic():
        row, created = EmailEvent.objects.get_or_create(
            event_id=event["sg_event_id"],
            defaults={
                "message_id": event.get("sg_message_id") or "",
                "event": event["event"],
                "email": event.get("email", ""),
                "occurred_at": datetime.fromtimestamp(event["timestamp"], timezone.utc),
                "payload": event,
            },
        )
        if created:
            transaction.on_commit(partial(enrich.delay, row.pk))


if "anymail" in settings.INSTALLED_APPS:
    from anymail.signals import tracking

    @receiver(tracking)
    def store_tracking(sender, event, esp_name, **kwargs):
        store(sender, event.esp_event)
