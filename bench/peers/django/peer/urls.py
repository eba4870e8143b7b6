from django.conf import settings
from django.urls import path

from .views import webhook

urlpatterns = [path("webhooks/sendgrid", webhook)]

if "anymail" in settings.INSTALLED_APPS:
    from anymail.webhooks.sendgrid import SendGridTrackingWebhookView

    urlpatterns.append(path("anymail/sendgrid/tracking/", SendGridTrackingWebhookView.as_view()))
