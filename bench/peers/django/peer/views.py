import base64
import json

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import load_der_public_key
from django.conf import settings
from django.http import HttpResponse
from django.views.decorators.http import require_POST

from .signals import email_event

KEY = load_der_public_key(base64.b64decode(settings.WEBHOOK_PUBLIC_KEY))


@require_POST
def webhook(request):
    signature = request.headers.get("X-Twilio-Email-Event-Webhook-Signature", "")
    timestamp = request.headers.get("X-Twilio-Email-Event-Webhook-Timestamp", "")
    try:
        KEY.verify(base64.b64decode(signature), timestamp.encode() + request.body, ec.ECDSA(hashes.SHA256()))
    except InvalidSignature:
        return HttpResponse(status=401)
    for event in json.loads(request.body):
        email_event.send(sender=None, event=event)
    return HttpResponse(status=200)
