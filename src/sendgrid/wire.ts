/**
 * The Event Webhook's item, as SendGrid documents and sends it. There is no published schema; the fields are those of
 * the Event Webhook Reference and of the event union in the Email Logs API's description.
 */

/** Keys that SendGrid itself writes. Whatever else stands in an item is a custom arg of the mail. */
export const SYSTEM_KEYS: ReadonlySet<string> = new Set([
  // every event
  "email",
  "timestamp",
  "event",
  "sg_event_id",
  "sg_message_id",
  "smtp-id",
  "category",
  "asm_group_id",
  // delivery
  "pool",
  "send_at",
  "reason",
  "status",
  "response",
  "attempt",
  "type",
  "bounce_classification",
  "tls",
  "cert_err",
  "ip",
  "domain",
  "from",
  "message",
  // engagement
  "useragent",
  "url",
  "url_offset",
  "sg_content_type",
  "sg_machine_open",
  "date",
  // campaigns, single sends, templates
  "marketing_campaign_id",
  "marketing_campaign_name",
  "marketing_campaign_version",
  "marketing_campaign_split_id",
  "post_type",
  "sg_user_id",
  "singlesend_id",
  "singlesend_name",
  "mc_stats",
  "phase_id",
  "template_id",
  "template_version_id",
  "template_hash",
  "sg_template_id",
  "sg_template_name",
  "newsletter",
  "nlvx_campaign_id",
  "nlvx_campaign_split_id",
  "nlvx_user_id",
  "reseller_id",
]);
