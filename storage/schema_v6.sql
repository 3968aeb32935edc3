-- Version 6: what a language model said and held (sessions/record/speech_json.h). Steps in which it
-- did nothing have no row.
ALTER TABLE sessions ADD COLUMN language TEXT NOT NULL DEFAULT '';
CREATE TABLE speech (
  session INTEGER NOT NULL,
  step INTEGER NOT NULL,
  words TEXT NOT NULL,
  PRIMARY KEY (session, step),
  FOREIGN KEY (session, step) REFERENCES steps (session, step) ON DELETE CASCADE
) STRICT;
CREATE VIEW v_tokens AS
SELECT s.session, n.name AS session_name, s.step, j.value ->> 0 AS request, q.name AS request_name,
  j.value ->> 1 AS position, j.value ->> 2 AS token, j.value ->> 3 AS lone_run,
  j.value ->> 4 AS drafted, j.value ->> 5 AS forced, j.value ->> 6 AS margin, j.value ->> 7 AS kl
FROM speech s
JOIN sessions n ON n.session = s.session
JOIN json_each(s.words, '$.tokens') j
LEFT JOIN requests q ON q.session = s.session AND q.request = j.value ->> 0;
CREATE VIEW v_state_differences AS
SELECT s.session, n.name AS session_name, s.step, j.value ->> 0 AS request, q.name AS request_name,
  j.value ->> 1 AS row, j.value ->> 2 AS grp, j.value ->> 3 AS layer,
  CASE j.value ->> 4 WHEN 0 THEN 'conv' ELSE 'temporal' END AS content,
  j.value ->> 5 AS is_read, j.value ->> 6 AS block, j.value ->> 7 AS num_tokens,
  j.value ->> 8 AS first_element, j.value ->> 9 AS num_elements, j.value ->> 10 AS largest
FROM speech s
JOIN sessions n ON n.session = s.session
JOIN json_each(s.words, '$.states') j
LEFT JOIN requests q ON q.session = s.session AND q.request = j.value ->> 0;
