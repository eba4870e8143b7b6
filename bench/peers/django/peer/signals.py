from django.dispatch import Signal

# Sent once for each event, with the event as SendGrid wrote it.
email_event = Signal()
