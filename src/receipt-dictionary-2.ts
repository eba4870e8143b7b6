/**
 * The second dictionary of receipt bodies, in zstd's own format: before the text stand the tables by which it writes letters
 * and matches, since a body of one event is too short to bring its own. It makes 252 bytes of such a body where the first
 * made 296 (with words that neither knows: 230 and 288), of 10 events 1,378 instead of 1,413, of 100 8,388 instead of 8,509:
 * so it takes the place of the first at every size.
 *
 * The text is what lies between the values of SendGrid's events, in the order in which its keys stand, so that one match
 * goes from value to value; the most common is at the end, where distances are short. It knows user agents and servers'
 * answers that the world has in common, and no sender's own words. The tables were made by ZDICT_finalizeDictionary of zstd
 * 1.5.4, for level 4, from 22,000 bodies of one event by the simulator's rules in which each sender's names, domains, custom
 * args, categories and templates are made up: what they know is how often letters, digits and matches come.
 *
 * Never to be changed, or the bodies packed with it could not be read: a better one gets a number of its own.
 */

/** What stands before the text. Dictionaries that a ledger learns begin with it too. */
export const DICTIONARY_TABLES: Buffer = Buffer.from(
  "N6Qw7AAAAAA4ELjS6Pz/////////98niLbdkiFta4+5NSRG/y+PjjR5RgCwGPt7INtPRSElJSUlSVw37qhEGKAJjAAAMCA2MyFDzygEABABMBsTGBMNCA8cEBEjEclBAGKOCMgZjGAgwCjDkpAJEMAIAAAD0iKFDAuSDohF5MBwLBKKAMCxGhGg5AgAAAAEAAAAEAAAACAAAAA==",
  "base64",
);

const SELDOM = [
  '"marketing_campaign_id":1,"marketing_campaign_name":"","mc_stats":"singlesend","phase_id":"send","singlesend_id":"","singlesend_name":"","template_id":"',
  '","event":"group_unsubscribe","ip":"',
  '","event":"dropped","reason":"Bounced Address","sg_event_id":"ZHJvcC0',
  '[{"bounce_classification":"Mailbox Unavailable","category":["',
  '@yahoo.com","event":"bounce","ip":"167.89.',
  '","reason":"unable to get mx info: failed to get IPs from PTR record: lookup : no such host"',
  '","reason":"554 5.7.1 Service unavailable; client host blocked',
  '","reason":"550 5.1.1 The email account that you tried to reach does not exist. Recipient address rejected: User unknown","sg_event_id":"Ym91bmNlLTAt',
  '","status":"5.1.1","timestamp":17',
  ',"tls":1,"type":"bounce"}]\r\n',
  '[{"attempt":"1","category":["',
  '","domain":"gmail.com","email":"',
  '@hotmail.com","event":"deferred","from":"bounces+',
  '","ip":"168.245.',
  '","response":"421 4.7.0 Too many connections from your IP, try again later',
  '","sg_event_id":"ZGVmZXJyZWQtMC0',
];

const ENGAGED = [
  '@icloud.com","event":"click","ip":"',
  '","timestamp":17',
  ',"url":"https://www.',
  ".com/",
  '","url_offset":{"index":1,"type":"html"}',
  '","url_offset":{"index":0,"type":"html"},',
  '"useragent":"YahooMailProxy; https://help.yahoo.com/kb/yahoo-mail-proxy-SLN28749.html"}]\r\n',
  '"useragent":"Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Mobile Safari/537.36"}]\r\n',
  '"useragent":"Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"}]\r\n',
  '"useragent":"Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1"}]\r\n',
  '(KHTML, like Gecko) Mobile/15E148"}]\r\n',
  '"useragent":"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Safari/605.1.15"}]\r\n',
  '"useragent":"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36"}]\r\n',
  ',"email":"',
  '@outlook.com","event":"open","ip":"',
  '","sg_content_type":"html","sg_event_id":"',
  '","sg_machine_open":true,"sg_message_id":"',
  '","timestamp":17',
  ',"useragent":"Mozilla/5.0 (Windows NT 5.1; rv:11.0) Gecko Firefox/11.0 (via ggpht.com GoogleImageProxy)"}]\r\n',
];

const PROCESSED = [
  '[{"asm_group_id":1',
  ',"category":"',
  '","email":"',
  '@gmail.com","event":"processed","pool":{"id":1',
  ',"name":"',
  '"},"send_at":0,"sg_event_id":"cHJvY2Vzc2VkLT',
  '0w","sg_message_id":"',
  ".filterdrecv-",
  '","smtp-id":"<',
  '>","timestamp":17',
  "}]\r\n",
];

const DELIVERED = [
  '.com","event":"delivered","ip":"159.183.',
  '","ip":"149.72.',
  '","response":"250 2.6.0 <',
  "> [InternalId=",
  ", Hostname=",
  ".prod.outlook.com] ",
  " bytes in 0.",
  ' KB/sec Queued mail for delivery"',
  ',"response":"250 2.0.0 Ok: queued as ',
  "250 ok:  Message ",
  " accepted",
  '","response":"250 2.0.0 OK  17',
  ' - gsmtp","sg_event_id":"ZGVsaXZlcmVkLTAt',
  'LTA","sg_message_id":"',
  ".recvd-",
  '.0","sg_template_id":"d-',
  '","sg_template_name":"',
  '","smtp-id":"<',
  "@geopod-ismtpd-",
  '>","timestamp":17',
  ',"tls":1}]\r\n[{"category":["',
  '","',
  '"],"email":"',
];

export const RECEIPT_DICTIONARY_2: Buffer = Buffer.concat([
  DICTIONARY_TABLES,
  Buffer.from([SELDOM, ENGAGED, PROCESSED, DELIVERED].flat().join("")),
]);
