-- What OpenCode 1.18.33 has recorded of a session, as far as it is read.
CREATE TABLE `session` (
          `id` text PRIMARY KEY,
          `project_id` text NOT NULL,
          `workspace_id` text,
          `parent_id` text,
          `slug` text NOT NULL,
          `directory` text NOT NULL,
          `path` text,
          `title` text NOT NULL,
          `version` text NOT NULL,
          `share_url` text,
          `summary_additions` integer,
          `summary_deletions` integer,
          `summary_files` integer,
          `summary_diffs` text,
          `metadata` text,
          `cost` real DEFAULT 0 NOT NULL,
          `tokens_input` integer DEFAULT 0 NOT NULL,
          `tokens_output` integer DEFAULT 0 NOT NULL,
          `tokens_reasoning` integer DEFAULT 0 NOT NULL,
          `tokens_cache_read` integer DEFAULT 0 NOT NULL,
          `tokens_cache_write` integer DEFAULT 0 NOT NULL,
          `revert` text,
          `permission` text,
          `agent` text,
          `model` text,
          `time_created` integer NOT NULL,
          `time_updated` integer NOT NULL,
          `time_compacting` integer,
          `time_archived` integer
        );
INSERT INTO session VALUES('ses_e0e675108ffejQFyG9xMY0nHbA','global',NULL,NULL,'nimble-planet','/home/dev/project','','Scripted.','1.18.33',NULL,0,0,0,NULL,NULL,0.0,15405,21,0,0,0,NULL,'[{"permission":"question","pattern":"*","action":"deny"},{"permission":"plan_enter","pattern":"*","action":"deny"},{"permission":"plan_exit","pattern":"*","action":"deny"}]','build','{"id":"m","providerID":"fake","variant":"default"}',1795054677751,1795054680020,NULL,NULL);
CREATE TABLE `message` (
          `id` text PRIMARY KEY,
          `session_id` text NOT NULL,
          `time_created` integer NOT NULL,
          `time_updated` integer NOT NULL,
          `data` text NOT NULL
        );
INSERT INTO message VALUES('msg_1f198afa9001fpIZPCa3qHn7cE','ses_e0e675108ffejQFyG9xMY0nHbA',1795054677929,1795054679851,'{"role":"user","time":{"created":1795054677929},"agent":"build","model":{"providerID":"fake","modelID":"m"},"summary":{"diffs":[{"file":"made.txt","patch":"Index: made.txt\n===================================================================\n--- made.txt\t\n+++ made.txt\t\n@@ -0,0 +1,1 @@\n+hi\n","additions":1,"deletions":0,"status":"added"}]}}');
INSERT INTO message VALUES('msg_1f198b01e001blew4itNZk208X','ses_e0e675108ffejQFyG9xMY0nHbA',1795054678046,1795054679554,'{"parentID":"msg_1f198afa9001fpIZPCa3qHn7cE","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/dev/project","root":"/home/dev/project"},"cost":0,"tokens":{"total":7686,"input":7667,"output":19,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"m","providerID":"fake","time":{"created":1795054678046,"completed":1795054679551},"finish":"tool-calls"}');
INSERT INTO message VALUES('msg_1f198b607001QF1mu3YQ6rqDMr','ses_e0e675108ffejQFyG9xMY0nHbA',1795054679559,1795054679998,'{"parentID":"msg_1f198afa9001fpIZPCa3qHn7cE","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/dev/project","root":"/home/dev/project"},"cost":0,"tokens":{"total":7740,"input":7738,"output":2,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"m","providerID":"fake","time":{"created":1795054679559,"completed":1795054679997},"finish":"stop"}');
CREATE TABLE `part` (
          `id` text PRIMARY KEY,
          `message_id` text NOT NULL,
          `session_id` text NOT NULL,
          `time_created` integer NOT NULL,
          `time_updated` integer NOT NULL,
          `data` text NOT NULL
        );
INSERT INTO part VALUES('prt_1f198afba001Jko6jNamuXFzqI','msg_1f198afa9001fpIZPCa3qHn7cE','ses_e0e675108ffejQFyG9xMY0nHbA',1795054677952,1795054677954,'{"type":"text","text":"\"make it\""}');
INSERT INTO part VALUES('prt_1f198b33c0015dkHn4jn1V6UOn','msg_1f198b01e001blew4itNZk208X','ses_e0e675108ffejQFyG9xMY0nHbA',1795054678844,1795054678845,'{"snapshot":"4b825dc642cb6eb9a060e54bf8d69288fbee4904","type":"step-start"}');
INSERT INTO part VALUES('prt_1f198b343001W0k22a3gnkshIo','msg_1f198b01e001blew4itNZk208X','ses_e0e675108ffejQFyG9xMY0nHbA',1795054678851,1795054678889,'{"type":"text","text":"I will make it.","time":{"start":1795054678851,"end":1795054678888}}');
INSERT INTO part VALUES('prt_1f198b350001zuJsc855zKUfmX','msg_1f198b01e001blew4itNZk208X','ses_e0e675108ffejQFyG9xMY0nHbA',1795054678864,1795054679186,'{"type":"tool","tool":"bash","callID":"call_sim_1_2_1","state":{"status":"completed","input":{"command":"echo hi > made.txt; echo done","description":"make"},"output":"done\n","metadata":{"output":"done\n","exit":0,"truncated":false},"title":"echo hi > made.txt; echo done","time":{"start":1795054678879,"end":1795054679172}}}');
INSERT INTO part VALUES('prt_1f198b58e001K6LsgCKAFMcQKb','msg_1f198b01e001blew4itNZk208X','ses_e0e675108ffejQFyG9xMY0nHbA',1795054679439,1795054679441,'{"reason":"tool-calls","snapshot":"a364e323c2594f69d60d4cf016b1117a2d95e040","type":"step-finish","tokens":{"total":7686,"input":7667,"output":19,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}');
INSERT INTO part VALUES('prt_1f198b5f5001So9avcIA8g9MLO','msg_1f198b01e001blew4itNZk208X','ses_e0e675108ffejQFyG9xMY0nHbA',1795054679541,1795054679546,'{"type":"patch","hash":"4b825dc642cb6eb9a060e54bf8d69288fbee4904","files":["/home/dev/project/made.txt"]}');
INSERT INTO part VALUES('prt_1f198b6f6001OHiUgjmg5bYv1A','msg_1f198b607001QF1mu3YQ6rqDMr','ses_e0e675108ffejQFyG9xMY0nHbA',1795054679798,1795054679799,'{"snapshot":"a364e323c2594f69d60d4cf016b1117a2d95e040","type":"step-start"}');
INSERT INTO part VALUES('prt_1f198b6f9001iX3egEQ5oJ0tWP','msg_1f198b607001QF1mu3YQ6rqDMr','ses_e0e675108ffejQFyG9xMY0nHbA',1795054679801,1795054679806,'{"type":"text","text":"It is made.","time":{"start":1795054679801,"end":1795054679805}}');
INSERT INTO part VALUES('prt_1f198b757001Vfm1yshb1UewZk','msg_1f198b607001QF1mu3YQ6rqDMr','ses_e0e675108ffejQFyG9xMY0nHbA',1795054679895,1795054679896,'{"reason":"stop","snapshot":"a364e323c2594f69d60d4cf016b1117a2d95e040","type":"step-finish","tokens":{"total":7740,"input":7738,"output":2,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}');
