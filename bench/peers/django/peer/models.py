from django.db import models


class EmailEvent(models.Model):
    """One event of the webhook, with what SendGrid's API says of its message."""

    event_id = models.CharField(max_length=255, unique=True)
    message_id = models.CharField(max_length=255, db_index=True)
    event = models.CharField(max_length=64)
    email = models.CharField(max_length=320, db_index=True)
    occurred_at = models.DateTimeField()
    payload = models.JSONField()
    created_at = models.DateTimeField(auto_now_add=True)
    subject = models.TextField(null=True)
    sender = models.TextField(null=True)
    status = models.CharField(max_length=32, null=True)
    enriched_at = models.DateTimeField(null=True)
