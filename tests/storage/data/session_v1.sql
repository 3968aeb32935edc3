-- A session file of version 1 as SQL: level full, three steps.
PRAGMA foreign_keys = OFF;
BEGIN TRANSACTION;
CREATE TABLE attention_writes (
  session INTEGER NOT NULL,
  step INTEGER NOT NULL,
  grp INTEGER NOT NULL,
  ordinal INTEGER NOT NULL,
  row INTEGER NOT NULL,
  col INTEGER NOT NULL,
  block INTEGER NOT NULL,
  first_slot INTEGER NOT NULL,
  num_slots INTEGER NOT NULL,
  first_token INTEGER NOT NULL,
  PRIMARY KEY (session, step, grp, ordinal),
  FOREIGN KEY (session, step) REFERENCES steps (session, step) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
INSERT INTO "attention_writes" VALUES(1,1,0,0,0,0,1,0,6,0);
INSERT INTO "attention_writes" VALUES(1,2,0,0,0,0,1,6,2,0);
INSERT INTO "attention_writes" VALUES(1,3,0,0,0,1,4,0,2,0);
CREATE TABLE block_events (
  session INTEGER NOT NULL,
  step INTEGER NOT NULL,
  ordinal INTEGER NOT NULL,
  at_commit INTEGER NOT NULL,
  kind INTEGER NOT NULL,
  grp INTEGER NOT NULL,
  request INTEGER NOT NULL,
  col INTEGER NOT NULL,
  block INTEGER NOT NULL,
  ref_cnt INTEGER NOT NULL,
  num_tokens INTEGER NOT NULL,
  block_hash INTEGER NOT NULL,
  PRIMARY KEY (session, step, ordinal),
  FOREIGN KEY (session, step) REFERENCES steps (session, step) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
INSERT INTO "block_events" VALUES(1,1,0,0,0,0,0,-1,1,1,0,0);
INSERT INTO "block_events" VALUES(1,1,1,0,6,0,0,0,1,0,0,0);
INSERT INTO "block_events" VALUES(1,1,2,0,0,1,0,-1,2,1,0,0);
INSERT INTO "block_events" VALUES(1,1,3,0,6,1,0,0,2,0,0,0);
INSERT INTO "block_events" VALUES(1,1,4,0,0,1,0,-1,3,1,0,0);
INSERT INTO "block_events" VALUES(1,1,5,0,6,1,0,1,3,0,0,0);
INSERT INTO "block_events" VALUES(1,2,0,0,0,0,0,-1,4,1,0,0);
INSERT INTO "block_events" VALUES(1,2,1,0,6,0,0,1,4,0,0,0);
INSERT INTO "block_events" VALUES(1,3,0,0,0,1,0,-1,5,1,0,0);
INSERT INTO "block_events" VALUES(1,3,1,0,6,1,0,2,5,0,0,0);
INSERT INTO "block_events" VALUES(1,3,2,0,4,0,0,0,1,1,8,4719368459751124980);
INSERT INTO "block_events" VALUES(1,3,3,0,4,1,0,0,2,1,8,4719368459751124980);
INSERT INTO "block_events" VALUES(1,3,4,1,2,0,0,-1,4,0,0,0);
INSERT INTO "block_events" VALUES(1,3,5,1,2,0,0,-1,1,0,0,0);
INSERT INTO "block_events" VALUES(1,3,6,1,7,0,0,-1,0,0,0,0);
INSERT INTO "block_events" VALUES(1,3,7,1,2,1,0,-1,5,0,0,0);
INSERT INTO "block_events" VALUES(1,3,8,1,2,1,0,-1,3,0,0,0);
INSERT INTO "block_events" VALUES(1,3,9,1,2,1,0,-1,2,0,0,0);
INSERT INTO "block_events" VALUES(1,3,10,1,7,1,0,-1,0,0,0,0);
CREATE TABLE bookmarks (
  bookmark INTEGER PRIMARY KEY,
  session INTEGER NOT NULL REFERENCES sessions (session) ON DELETE CASCADE,
  step INTEGER NOT NULL,
  note TEXT NOT NULL
) STRICT;
CREATE TABLE commands (
  session INTEGER NOT NULL,
  step INTEGER NOT NULL,
  ordinal INTEGER NOT NULL,
  command INTEGER NOT NULL,
  request INTEGER NOT NULL,
  value INTEGER NOT NULL,
  outcome INTEGER NOT NULL,
  reason INTEGER NOT NULL,
  PRIMARY KEY (session, step, ordinal),
  FOREIGN KEY (session, step) REFERENCES steps (session, step) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
INSERT INTO "commands" VALUES(1,1,0,0,0,6,0,0);
INSERT INTO "commands" VALUES(1,2,0,5,0,2,0,0);
CREATE TABLE commits (
  session INTEGER NOT NULL,
  step INTEGER NOT NULL,
  ordinal INTEGER NOT NULL,
  request INTEGER NOT NULL,
  outcome INTEGER NOT NULL,
  num_computed_tokens INTEGER NOT NULL,
  num_tokens INTEGER NOT NULL,
  num_output_placeholders INTEGER NOT NULL,
  num_appended_tokens INTEGER NOT NULL,
  num_drafts_next INTEGER NOT NULL,
  finished INTEGER NOT NULL,
  PRIMARY KEY (session, step, ordinal),
  FOREIGN KEY (session, step) REFERENCES steps (session, step) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
INSERT INTO "commits" VALUES(1,1,0,0,0,6,7,0,1,1,0);
INSERT INTO "commits" VALUES(1,2,0,0,0,8,9,0,2,1,0);
INSERT INTO "commits" VALUES(1,3,0,0,0,10,10,0,1,0,1);
CREATE TABLE copy_decisions (
  session INTEGER NOT NULL,
  step INTEGER NOT NULL,
  launch INTEGER NOT NULL,
  decision INTEGER NOT NULL,
  row INTEGER NOT NULL,
  request INTEGER NOT NULL,
  rule INTEGER NOT NULL,
  outcome INTEGER NOT NULL,
  resets_accepted_count INTEGER NOT NULL,
  has_mamba_state_idx INTEGER NOT NULL,
  mamba_state_idx INTEGER NOT NULL,
  num_accepted_tokens INTEGER NOT NULL,
  num_scheduled_tokens INTEGER NOT NULL,
  num_computed_tokens INTEGER NOT NULL,
  num_draft_tokens INTEGER NOT NULL,
  block_size INTEGER NOT NULL,
  computed_after INTEGER NOT NULL,
  num_tokens_running_state INTEGER NOT NULL,
  new_num_computed_tokens INTEGER NOT NULL,
  aligned_new_computed INTEGER NOT NULL,
  accept_token_bias INTEGER NOT NULL,
  src_col INTEGER NOT NULL,
  dst_col INTEGER NOT NULL,
  PRIMARY KEY (session, step, launch, decision),
  FOREIGN KEY (session, step) REFERENCES steps (session, step) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
INSERT INTO "copy_decisions" VALUES(1,1,0,0,0,0,0,4,0,0,-1,1,6,0,0,8,6,0,0,0,0,-1,0);
INSERT INTO "copy_decisions" VALUES(1,1,1,0,0,0,3,3,0,1,0,1,6,0,0,8,0,6,6,0,-6,0,-1);
INSERT INTO "copy_decisions" VALUES(1,2,0,0,0,0,0,5,0,1,0,1,2,6,0,8,8,0,0,0,0,0,0);
INSERT INTO "copy_decisions" VALUES(1,2,1,0,0,0,3,1,1,1,0,2,2,6,1,8,0,7,8,8,1,0,0);
INSERT INTO "copy_decisions" VALUES(1,3,0,0,0,0,0,0,1,1,0,1,2,8,0,8,10,0,0,0,0,0,1);
INSERT INTO "copy_decisions" VALUES(1,3,1,0,0,0,3,3,0,1,1,2,2,8,1,8,0,9,10,8,-1,1,0);
CREATE TABLE digests (
  session INTEGER NOT NULL,
  step INTEGER NOT NULL,
  commands INTEGER NOT NULL,
  schedule INTEGER NOT NULL,
  blocks INTEGER NOT NULL,
  rows INTEGER NOT NULL,
  layout INTEGER NOT NULL,
  graph INTEGER NOT NULL,
  copies INTEGER NOT NULL,
  metadata INTEGER NOT NULL,
  commits INTEGER NOT NULL,
  findings INTEGER NOT NULL,
  PRIMARY KEY (session, step),
  FOREIGN KEY (session, step) REFERENCES steps (session, step) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
INSERT INTO "digests" VALUES(1,1,420537164654135502,-656404443709128894,2487297340945843260,-8972431594062905935,-4025704700777717762,-1770388360976930904,-5848951824626407292,6452276314407462154,-2881565005268079572,110403869045620);
INSERT INTO "digests" VALUES(1,2,-6398782001058294666,-1310479025696725404,6561989823423476623,-3244461921463143616,-8971413015781191205,406371406548565298,2818703902696811296,-2290517769012471541,-4771870844529783542,110403869045620);
INSERT INTO "digests" VALUES(1,3,110403869045620,-3909339240186907612,-6050452654449480309,-963027259806685501,-8971413015781191205,406371406548565298,-130335707319489145,-8445544796244017640,6076044043668884988,110403869045620);
CREATE TABLE enum_names (
  enum TEXT NOT NULL,
  code INTEGER NOT NULL,
  name TEXT NOT NULL,
  PRIMARY KEY (enum, code)
) STRICT, WITHOUT ROWID;
INSERT INTO "enum_names" VALUES('admission',0,'running');
INSERT INTO "enum_names" VALUES('admission',1,'new');
INSERT INTO "enum_names" VALUES('admission',2,'resumed');
INSERT INTO "enum_names" VALUES('array_dtype',0,'boolean');
INSERT INTO "enum_names" VALUES('array_dtype',1,'int32');
INSERT INTO "enum_names" VALUES('array_dtype',2,'int64');
INSERT INTO "enum_names" VALUES('array_dtype',3,'host_int');
INSERT INTO "enum_names" VALUES('array_dtype',4,'host_bool');
INSERT INTO "enum_names" VALUES('cache_event',0,'allocated');
INSERT INTO "enum_names" VALUES('cache_event',1,'touched');
INSERT INTO "enum_names" VALUES('cache_event',2,'freed');
INSERT INTO "enum_names" VALUES('cache_event',3,'evicted');
INSERT INTO "enum_names" VALUES('cache_event',4,'registered');
INSERT INTO "enum_names" VALUES('cache_event',5,'withdrawn');
INSERT INTO "enum_names" VALUES('cache_event',6,'column_set');
INSERT INTO "enum_names" VALUES('cache_event',7,'table_dropped');
INSERT INTO "enum_names" VALUES('cache_event',8,'free_deferred');
INSERT INTO "enum_names" VALUES('cache_event',9,'free_due');
INSERT INTO "enum_names" VALUES('command',0,'add_request');
INSERT INTO "enum_names" VALUES('command',1,'preempt');
INSERT INTO "enum_names" VALUES('command',2,'abort');
INSERT INTO "enum_names" VALUES('command',3,'reset_prefix_cache');
INSERT INTO "enum_names" VALUES('command',4,'set_step_budget');
INSERT INTO "enum_names" VALUES('command',5,'set_accepted_tokens');
INSERT INTO "enum_names" VALUES('command',6,'set_draft_tokens');
INSERT INTO "enum_names" VALUES('command',7,'set_policies');
INSERT INTO "enum_names" VALUES('command_outcome',0,'done');
INSERT INTO "enum_names" VALUES('command_outcome',1,'ignored');
INSERT INTO "enum_names" VALUES('commit_outcome',0,'taken');
INSERT INTO "enum_names" VALUES('commit_outcome',1,'chunk');
INSERT INTO "enum_names" VALUES('commit_outcome',2,'preempted');
INSERT INTO "enum_names" VALUES('commit_outcome',3,'stale_run');
INSERT INTO "enum_names" VALUES('commit_outcome',4,'left_the_engine');
INSERT INTO "enum_names" VALUES('content',0,'none');
INSERT INTO "enum_names" VALUES('content',1,'temporal');
INSERT INTO "enum_names" VALUES('content',2,'conv');
INSERT INTO "enum_names" VALUES('content',3,'attention');
INSERT INTO "enum_names" VALUES('copy_outcome',0,'copy');
INSERT INTO "enum_names" VALUES('copy_outcome',1,'within_block_shift');
INSERT INTO "enum_names" VALUES('copy_outcome',2,'self_copy_skipped');
INSERT INTO "enum_names" VALUES('copy_outcome',3,'no_boundary');
INSERT INTO "enum_names" VALUES('copy_outcome',4,'fresh_state');
INSERT INTO "enum_names" VALUES('copy_outcome',5,'same_column');
INSERT INTO "enum_names" VALUES('copy_outcome',6,'padded_row');
INSERT INTO "enum_names" VALUES('copy_rule',0,'preprocess_mamba');
INSERT INTO "enum_names" VALUES('copy_rule',1,'preprocess_mamba_align_fused_kernel');
INSERT INTO "enum_names" VALUES('copy_rule',2,'precopy_mamba_align_fused_kernel');
INSERT INTO "enum_names" VALUES('copy_rule',3,'postprocess_mamba_v1');
INSERT INTO "enum_names" VALUES('copy_rule',4,'postprocess_mamba_v2');
INSERT INTO "enum_names" VALUES('copy_rule',5,'all_mode_boundary');
INSERT INTO "enum_names" VALUES('copy_rule',6,'normalise_to_column_zero');
INSERT INTO "enum_names" VALUES('dispatch_reason',0,'graphs_off');
INSERT INTO "enum_names" VALUES('dispatch_reason',1,'only_none_allowed');
INSERT INTO "enum_names" VALUES('dispatch_reason',2,'above_largest_size');
INSERT INTO "enum_names" VALUES('dispatch_reason',3,'no_graph_for_batch');
INSERT INTO "enum_names" VALUES('dispatch_reason',4,'uniform_decode_graph');
INSERT INTO "enum_names" VALUES('dispatch_reason',5,'mixed_batch_graph');
INSERT INTO "enum_names" VALUES('dispatch_reason',6,'not_uniform');
INSERT INTO "enum_names" VALUES('dispatch_reason',7,'full_graph_too_small');
INSERT INTO "enum_names" VALUES('dispatch_reason',8,'full_graph_forbidden');
INSERT INTO "enum_names" VALUES('dispatch_reason',9,'piecewise_only');
INSERT INTO "enum_names" VALUES('ignored_reason',0,'none');
INSERT INTO "enum_names" VALUES('ignored_reason',1,'not_running');
INSERT INTO "enum_names" VALUES('ignored_reason',2,'has_finished');
INSERT INTO "enum_names" VALUES('ignored_reason',3,'drafts_planned_ahead');
INSERT INTO "enum_names" VALUES('ignored_reason',4,'no_draft_list');
INSERT INTO "enum_names" VALUES('ignored_reason',5,'samples_nothing');
INSERT INTO "enum_names" VALUES('ignored_reason',6,'no_drafts_to_accept');
INSERT INTO "enum_names" VALUES('ignored_reason',7,'count_out_of_range');
INSERT INTO "enum_names" VALUES('ignored_reason',8,'blocks_in_use');
INSERT INTO "enum_names" VALUES('ignored_reason',9,'frees_deferred');
INSERT INTO "enum_names" VALUES('launch',0,'before_forward');
INSERT INTO "enum_names" VALUES('launch',1,'after_sampling');
INSERT INTO "enum_names" VALUES('lookup_stop',0,'caching_off');
INSERT INTO "enum_names" VALUES('lookup_stop',1,'limit_reached');
INSERT INTO "enum_names" VALUES('lookup_stop',2,'miss');
INSERT INTO "enum_names" VALUES('lookup_stop',3,'eagle_drop');
INSERT INTO "enum_names" VALUES('lookup_stop',4,'alignment');
INSERT INTO "enum_names" VALUES('lookup_stop',5,'cut_to_other_group');
INSERT INTO "enum_names" VALUES('row_class',0,'decode');
INSERT INTO "enum_names" VALUES('row_class',1,'verify');
INSERT INTO "enum_names" VALUES('row_class',2,'prefill');
INSERT INTO "enum_names" VALUES('row_class',3,'padding');
INSERT INTO "enum_names" VALUES('row_origin',0,'kept');
INSERT INTO "enum_names" VALUES('row_origin',1,'moved');
INSERT INTO "enum_names" VALUES('row_origin',2,'added');
INSERT INTO "enum_names" VALUES('row_origin',3,'returned');
INSERT INTO "enum_names" VALUES('runtime_mode',0,'NONE');
INSERT INTO "enum_names" VALUES('runtime_mode',1,'PIECEWISE');
INSERT INTO "enum_names" VALUES('runtime_mode',2,'FULL');
INSERT INTO "enum_names" VALUES('runtime_mode',3,'FULL_DECODE_ONLY');
INSERT INTO "enum_names" VALUES('runtime_mode',4,'FULL_AND_PIECEWISE');
INSERT INTO "enum_names" VALUES('skip_reason',0,'no_token_budget');
INSERT INTO "enum_names" VALUES('skip_reason',1,'split_to_zero');
INSERT INTO "enum_names" VALUES('skip_reason',2,'max_model_len');
INSERT INTO "enum_names" VALUES('skip_reason',3,'chunked_prefill_off');
INSERT INTO "enum_names" VALUES('skip_reason',4,'allocation_refused');
INSERT INTO "enum_names" VALUES('skip_reason',5,'max_num_seqs');
INSERT INTO "enum_names" VALUES('skip_reason',6,'behind_refused_request');
INSERT INTO "enum_names" VALUES('skip_reason',7,'preemption_in_step');
INSERT INTO "enum_names" VALUES('skip_reason',8,'ends_in_flight');
INSERT INTO "enum_names" VALUES('skip_reason',9,'frees_deferred');
INSERT INTO "enum_names" VALUES('skip_reason',10,'frame_in_flight');
INSERT INTO "enum_names" VALUES('write_kind',0,'never');
INSERT INTO "enum_names" VALUES('write_kind',1,'prefill');
INSERT INTO "enum_names" VALUES('write_kind',2,'decode');
INSERT INTO "enum_names" VALUES('write_kind',3,'pre_copy');
INSERT INTO "enum_names" VALUES('write_kind',4,'post_copy');
INSERT INTO "enum_names" VALUES('write_kind',5,'attention');
CREATE TABLE findings (
  session INTEGER NOT NULL,
  step INTEGER NOT NULL,
  ordinal INTEGER NOT NULL,
  severity TEXT NOT NULL CHECK (severity IN ('error', 'warning')),
  rule TEXT NOT NULL,
  request INTEGER NOT NULL,
  row INTEGER NOT NULL,
  grp INTEGER NOT NULL,
  content INTEGER NOT NULL,
  col INTEGER NOT NULL,
  block INTEGER NOT NULL,
  expected INTEGER NOT NULL,
  seen INTEGER NOT NULL,
  detail TEXT NOT NULL,
  cause_kind INTEGER NOT NULL,
  cause_step INTEGER NOT NULL,
  cause_ordinal INTEGER NOT NULL,
  cause_request INTEGER NOT NULL,
  cause_num_tokens INTEGER NOT NULL,
  text TEXT NOT NULL,
  PRIMARY KEY (session, step, ordinal),
  FOREIGN KEY (session, step) REFERENCES steps (session, step) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
CREATE TABLE graph_padding (
  session INTEGER NOT NULL,
  step INTEGER NOT NULL,
  runtime_mode INTEGER NOT NULL,
  num_tokens_padded INTEGER NOT NULL,
  num_reqs_padded INTEGER NOT NULL,
  reason INTEGER NOT NULL,
  uniform_decode INTEGER NOT NULL,
  PRIMARY KEY (session, step),
  FOREIGN KEY (session, step) REFERENCES steps (session, step) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
INSERT INTO "graph_padding" VALUES(1,1,1,8,1,6,0);
INSERT INTO "graph_padding" VALUES(1,2,2,2,1,4,1);
INSERT INTO "graph_padding" VALUES(1,3,2,2,1,4,1);
CREATE TABLE kv_cache_groups (
  session INTEGER NOT NULL REFERENCES sessions (session) ON DELETE CASCADE,
  grp INTEGER NOT NULL,
  kind TEXT NOT NULL,
  block_size INTEGER NOT NULL,
  num_layers INTEGER NOT NULL,
  PRIMARY KEY (session, grp)
) STRICT, WITHOUT ROWID;
INSERT INTO "kv_cache_groups" VALUES(1,0,'full_attention',8,2);
INSERT INTO "kv_cache_groups" VALUES(1,1,'mamba2',8,2);
CREATE TABLE lookup_groups (
  session INTEGER NOT NULL,
  step INTEGER NOT NULL,
  ordinal INTEGER NOT NULL,
  grp INTEGER NOT NULL,
  present_length INTEGER NOT NULL,
  hit_length INTEGER NOT NULL,
  miss_block INTEGER NOT NULL,
  planned_column INTEGER NOT NULL,
  stop INTEGER NOT NULL,
  PRIMARY KEY (session, step, ordinal, grp),
  FOREIGN KEY (session, step) REFERENCES steps (session, step) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
INSERT INTO "lookup_groups" VALUES(1,1,0,0,0,0,-1,-1,1);
INSERT INTO "lookup_groups" VALUES(1,1,0,1,0,0,-1,-1,5);
CREATE TABLE lookups (
  session INTEGER NOT NULL,
  step INTEGER NOT NULL,
  ordinal INTEGER NOT NULL,
  request INTEGER NOT NULL,
  num_hit_tokens INTEGER NOT NULL,
  admitted INTEGER NOT NULL,
  max_cache_hit_length INTEGER NOT NULL,
  longest_hit_length INTEGER NOT NULL,
  num_rounds INTEGER NOT NULL,
  PRIMARY KEY (session, step, ordinal),
  FOREIGN KEY (session, step) REFERENCES steps (session, step) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
INSERT INTO "lookups" VALUES(1,1,0,0,0,1,5,0,1);
CREATE TABLE metadata_arrays (
  session INTEGER NOT NULL,
  step INTEGER NOT NULL,
  ordinal INTEGER NOT NULL,
  grp INTEGER NOT NULL,
  name TEXT NOT NULL,
  dtype INTEGER NOT NULL,
  dims INTEGER NOT NULL,
  num_rows INTEGER NOT NULL,
  num_cols INTEGER NOT NULL,
  elements BLOB,
  PRIMARY KEY (session, step, ordinal),
  FOREIGN KEY (session, step) REFERENCES steps (session, step) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
INSERT INTO "metadata_arrays" VALUES(1,1,0,-1,'query_start_loc',1,1,2,1,X'0000000006000000');
INSERT INTO "metadata_arrays" VALUES(1,1,1,-1,'seq_lens',1,1,1,1,X'06000000');
INSERT INTO "metadata_arrays" VALUES(1,1,2,1,'num_prefills',3,0,1,1,X'01000000');
INSERT INTO "metadata_arrays" VALUES(1,1,3,1,'num_prefill_tokens',3,0,1,1,X'06000000');
INSERT INTO "metadata_arrays" VALUES(1,1,4,1,'num_decodes',3,0,1,1,X'00000000');
INSERT INTO "metadata_arrays" VALUES(1,1,5,1,'num_decode_tokens',3,0,1,1,X'00000000');
INSERT INTO "metadata_arrays" VALUES(1,1,6,1,'num_reqs',3,0,1,1,X'01000000');
INSERT INTO "metadata_arrays" VALUES(1,1,7,1,'has_initial_states_p',0,1,1,1,X'00000000');
INSERT INTO "metadata_arrays" VALUES(1,1,8,1,'query_start_loc_p',1,1,2,1,X'0000000006000000');
INSERT INTO "metadata_arrays" VALUES(1,1,9,1,'num_computed_tokens_p',1,1,0,1,NULL);
INSERT INTO "metadata_arrays" VALUES(1,1,10,1,'state_indices_tensor_p',1,1,1,1,X'02000000');
INSERT INTO "metadata_arrays" VALUES(1,1,11,1,'state_indices_tensor_d',1,2,0,2,X'');
INSERT INTO "metadata_arrays" VALUES(1,1,12,1,'query_start_loc_d',1,1,0,1,NULL);
INSERT INTO "metadata_arrays" VALUES(1,1,13,1,'num_accepted_tokens',1,1,1,1,X'01000000');
INSERT INTO "metadata_arrays" VALUES(1,1,14,1,'block_idx_last_scheduled_token',1,1,0,1,NULL);
INSERT INTO "metadata_arrays" VALUES(1,1,15,1,'block_idx_first_scheduled_token_p',1,1,0,1,NULL);
INSERT INTO "metadata_arrays" VALUES(1,1,16,1,'block_idx_last_computed_token',1,1,0,1,NULL);
INSERT INTO "metadata_arrays" VALUES(1,1,17,1,'seq_lens',1,1,1,1,X'06000000');
INSERT INTO "metadata_arrays" VALUES(1,1,18,1,'nums_dict.8.nums',1,1,1,1,X'01000000');
INSERT INTO "metadata_arrays" VALUES(1,1,19,1,'nums_dict.8.tot',3,0,1,1,X'01000000');
INSERT INTO "metadata_arrays" VALUES(1,1,20,1,'batch_ptr',1,1,1,1,X'00000000');
INSERT INTO "metadata_arrays" VALUES(1,1,21,1,'token_chunk_offset_ptr',1,1,1,1,X'00000000');
INSERT INTO "metadata_arrays" VALUES(1,1,22,1,'prep_initial_states',4,0,1,1,X'00000000');
INSERT INTO "metadata_arrays" VALUES(1,1,23,1,'chunk_size',3,0,1,1,X'04000000');
INSERT INTO "metadata_arrays" VALUES(1,1,24,1,'seq_idx_p',1,1,2,1,X'0000000000000000');
INSERT INTO "metadata_arrays" VALUES(1,1,25,1,'cu_chunk_seqlen_p',1,1,3,1,X'000000000400000006000000');
INSERT INTO "metadata_arrays" VALUES(1,1,26,1,'last_chunk_indices_p',1,1,1,1,X'01000000');
INSERT INTO "metadata_arrays" VALUES(1,2,0,-1,'query_start_loc',1,1,2,1,X'0000000002000000');
INSERT INTO "metadata_arrays" VALUES(1,2,1,-1,'seq_lens',1,1,1,1,X'08000000');
INSERT INTO "metadata_arrays" VALUES(1,2,2,1,'num_prefills',3,0,1,1,X'00000000');
INSERT INTO "metadata_arrays" VALUES(1,2,3,1,'num_prefill_tokens',3,0,1,1,X'00000000');
INSERT INTO "metadata_arrays" VALUES(1,2,4,1,'num_decodes',3,0,1,1,X'01000000');
INSERT INTO "metadata_arrays" VALUES(1,2,5,1,'num_decode_tokens',3,0,1,1,X'02000000');
INSERT INTO "metadata_arrays" VALUES(1,2,6,1,'num_reqs',3,0,1,1,X'01000000');
INSERT INTO "metadata_arrays" VALUES(1,2,7,1,'has_initial_states_p',0,1,0,1,NULL);
INSERT INTO "metadata_arrays" VALUES(1,2,8,1,'query_start_loc_p',1,1,0,1,NULL);
INSERT INTO "metadata_arrays" VALUES(1,2,9,1,'num_computed_tokens_p',1,1,0,1,NULL);
INSERT INTO "metadata_arrays" VALUES(1,2,10,1,'state_indices_tensor_p',1,1,0,1,X'');
INSERT INTO "metadata_arrays" VALUES(1,2,11,1,'state_indices_tensor_d',1,2,1,2,X'0200000003000000');
INSERT INTO "metadata_arrays" VALUES(1,2,12,1,'query_start_loc_d',1,1,2,1,X'0000000002000000');
INSERT INTO "metadata_arrays" VALUES(1,2,13,1,'num_accepted_tokens',1,1,1,1,X'01000000');
INSERT INTO "metadata_arrays" VALUES(1,2,14,1,'block_idx_last_scheduled_token',1,1,0,1,NULL);
INSERT INTO "metadata_arrays" VALUES(1,2,15,1,'block_idx_first_scheduled_token_p',1,1,0,1,NULL);
INSERT INTO "metadata_arrays" VALUES(1,2,16,1,'block_idx_last_computed_token',1,1,0,1,NULL);
INSERT INTO "metadata_arrays" VALUES(1,2,17,1,'seq_lens',1,1,1,1,X'08000000');
INSERT INTO "metadata_arrays" VALUES(1,2,18,1,'nums_dict',1,1,0,1,NULL);
INSERT INTO "metadata_arrays" VALUES(1,2,19,1,'prep_initial_states',4,0,1,1,X'00000000');
INSERT INTO "metadata_arrays" VALUES(1,2,20,1,'chunk_size',3,0,1,1,X'04000000');
INSERT INTO "metadata_arrays" VALUES(1,2,21,1,'seq_idx_p',1,1,0,1,NULL);
INSERT INTO "metadata_arrays" VALUES(1,2,22,1,'cu_chunk_seqlen_p',1,1,0,1,NULL);
INSERT INTO "metadata_arrays" VALUES(1,2,23,1,'last_chunk_indices_p',1,1,0,1,NULL);
INSERT INTO "metadata_arrays" VALUES(1,3,0,-1,'query_start_loc',1,1,2,1,X'0000000002000000');
INSERT INTO "metadata_arrays" VALUES(1,3,1,-1,'seq_lens',1,1,1,1,X'0A000000');
INSERT INTO "metadata_arrays" VALUES(1,3,2,1,'num_prefills',3,0,1,1,X'00000000');
INSERT INTO "metadata_arrays" VALUES(1,3,3,1,'num_prefill_tokens',3,0,1,1,X'00000000');
INSERT INTO "metadata_arrays" VALUES(1,3,4,1,'num_decodes',3,0,1,1,X'01000000');
INSERT INTO "metadata_arrays" VALUES(1,3,5,1,'num_decode_tokens',3,0,1,1,X'02000000');
INSERT INTO "metadata_arrays" VALUES(1,3,6,1,'num_reqs',3,0,1,1,X'01000000');
INSERT INTO "metadata_arrays" VALUES(1,3,7,1,'has_initial_states_p',0,1,0,1,NULL);
INSERT INTO "metadata_arrays" VALUES(1,3,8,1,'query_start_loc_p',1,1,0,1,NULL);
INSERT INTO "metadata_arrays" VALUES(1,3,9,1,'num_computed_tokens_p',1,1,0,1,NULL);
INSERT INTO "metadata_arrays" VALUES(1,3,10,1,'state_indices_tensor_p',1,1,0,1,X'');
INSERT INTO "metadata_arrays" VALUES(1,3,11,1,'state_indices_tensor_d',1,2,1,2,X'0300000005000000');
INSERT INTO "metadata_arrays" VALUES(1,3,12,1,'query_start_loc_d',1,1,2,1,X'0000000002000000');
INSERT INTO "metadata_arrays" VALUES(1,3,13,1,'num_accepted_tokens',1,1,1,1,X'01000000');
INSERT INTO "metadata_arrays" VALUES(1,3,14,1,'block_idx_last_scheduled_token',1,1,0,1,NULL);
INSERT INTO "metadata_arrays" VALUES(1,3,15,1,'block_idx_first_scheduled_token_p',1,1,0,1,NULL);
INSERT INTO "metadata_arrays" VALUES(1,3,16,1,'block_idx_last_computed_token',1,1,0,1,NULL);
INSERT INTO "metadata_arrays" VALUES(1,3,17,1,'seq_lens',1,1,1,1,X'0A000000');
INSERT INTO "metadata_arrays" VALUES(1,3,18,1,'nums_dict',1,1,0,1,NULL);
INSERT INTO "metadata_arrays" VALUES(1,3,19,1,'prep_initial_states',4,0,1,1,X'00000000');
INSERT INTO "metadata_arrays" VALUES(1,3,20,1,'chunk_size',3,0,1,1,X'04000000');
INSERT INTO "metadata_arrays" VALUES(1,3,21,1,'seq_idx_p',1,1,0,1,NULL);
INSERT INTO "metadata_arrays" VALUES(1,3,22,1,'cu_chunk_seqlen_p',1,1,0,1,NULL);
INSERT INTO "metadata_arrays" VALUES(1,3,23,1,'last_chunk_indices_p',1,1,0,1,NULL);
CREATE TABLE preemptions (
  session INTEGER NOT NULL,
  step INTEGER NOT NULL,
  ordinal INTEGER NOT NULL,
  request INTEGER NOT NULL,
  PRIMARY KEY (session, step, ordinal),
  FOREIGN KEY (session, step) REFERENCES steps (session, step) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
CREATE TABLE requests (
  session INTEGER NOT NULL REFERENCES sessions (session) ON DELETE CASCADE,
  request INTEGER NOT NULL,
  name TEXT NOT NULL,
  first_step INTEGER NOT NULL,
  PRIMARY KEY (session, request)
) STRICT, WITHOUT ROWID;
INSERT INTO "requests" VALUES(1,0,'A',1);
CREATE TABLE rows (
  session INTEGER NOT NULL,
  step INTEGER NOT NULL,
  scheduled INTEGER NOT NULL,
  request INTEGER NOT NULL,
  admission INTEGER NOT NULL,
  run INTEGER NOT NULL,
  reported_num_computed_tokens INTEGER NOT NULL,
  num_scheduled_tokens INTEGER NOT NULL,
  num_draft_tokens INTEGER NOT NULL,
  num_drafts_offered INTEGER NOT NULL,
  num_tokens INTEGER NOT NULL,
  num_output_placeholders INTEGER NOT NULL,
  num_prompt_tokens INTEGER NOT NULL,
  placeholder_drafts INTEGER NOT NULL,
  num_hit_tokens INTEGER NOT NULL,
  row INTEGER,
  num_computed_tokens INTEGER,
  row_class INTEGER,
  is_prefilling INTEGER,
  num_accepted_tokens_before INTEGER,
  num_accepted_tokens INTEGER,
  accepted_from INTEGER,
  num_draft_count INTEGER,
  num_sampled_tokens INTEGER,
  slot INTEGER,
  previous_row INTEGER,
  origin INTEGER,
  PRIMARY KEY (session, step, scheduled),
  FOREIGN KEY (session, step) REFERENCES steps (session, step) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
INSERT INTO "rows" VALUES(1,1,0,0,1,0,0,6,0,0,6,0,6,0,0,0,0,2,1,1,1,0,-1,1,-1,-1,2);
INSERT INTO "rows" VALUES(1,2,0,0,0,0,6,2,1,1,7,0,6,0,0,0,6,1,0,1,1,0,1,2,-1,0,0);
INSERT INTO "rows" VALUES(1,3,0,0,0,0,8,2,1,1,9,0,6,0,0,0,8,1,0,1,1,0,1,2,-1,0,0);
CREATE TABLE sessions (
  session INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE CHECK (length(name) > 0),
  kind TEXT NOT NULL CHECK (kind IN ('run', 'judge')),
  status TEXT NOT NULL
    CHECK (status IN ('recording', 'complete', 'stopped', 'interrupted', 'failed')),
  status_reason TEXT NOT NULL DEFAULT '',
  level TEXT NOT NULL CHECK (level IN ('counts', 'blocks', 'full')),
  created_us INTEGER NOT NULL,
  program TEXT NOT NULL,
  source TEXT NOT NULL,
  model TEXT NOT NULL,
  mamba_cache_mode TEXT NOT NULL,
  engine TEXT NOT NULL,
  runner TEXT NOT NULL,
  async_scheduling INTEGER NOT NULL,
  num_speculative_tokens INTEGER NOT NULL,
  num_blocks INTEGER NOT NULL,
  plan TEXT NOT NULL,
  parent INTEGER REFERENCES sessions (session) ON DELETE SET NULL,
  parent_name TEXT,
  forked_at INTEGER,
  note TEXT NOT NULL DEFAULT '',
  num_steps INTEGER NOT NULL DEFAULT 0,
  num_request_steps INTEGER NOT NULL DEFAULT 0,
  num_errors INTEGER NOT NULL DEFAULT 0,
  num_warnings INTEGER NOT NULL DEFAULT 0
) STRICT;
INSERT INTO "sessions" VALUES(1,'kept','run','complete','','full',1790000000000000,'hybridscope test','align boundary by accepted drafts','tiny-mamba2','align','safe','v1',0,1,16,'{"version":1,
"name":"align boundary by accepted drafts",
"teaches":"An accepted draft lands exactly on the block boundary: source and destination of the copy are the same column and the conv window moves by 1.",
"model":{"name":"tiny-mamba2","source":"made for hybridscope: a page of 4 tokens holds a state with 3 drafts (896 of 2,048 bytes with float32 temporal state)","layers":"M*M*","attention":{"type":"full","num_kv_heads":2,"head_size":64,"kv_lora_rank":0,"qk_rope_head_dim":0},"recurrent":{"type":"mamba2","intermediate_size":16,"n_groups":1,"num_heads":2,"head_dim":8,"state_size":8,"conv_kernel":4},"dtype":"bfloat16","chunk_size":4,"max_model_len":262144,"mamba_all_mode":true,"spec_in_state_shape":true,"kernel_block_alignment":1,"default_block_size":128},
"settings":{"mamba_cache_mode":"align","num_gpu_blocks_override":16,"block_size":8,"max_model_len":64,"async_scheduling":false,"speculative_config":{"method":"mtp","num_speculative_tokens":1}},
"requests":[{"id":"A","prompt":[0,2978561798699062879,0,6],"max_tokens":4,"key":13406563081047112832}],
"script":[{"step":2,"accept":{"A":2}}],
"expect":{"findings":"none","finished":1},
"notes":[]}
',NULL,NULL,NULL,'',3,3,0,0);
CREATE TABLE skipped_requests (
  session INTEGER NOT NULL,
  step INTEGER NOT NULL,
  ordinal INTEGER NOT NULL,
  request INTEGER NOT NULL,
  reason INTEGER NOT NULL,
  PRIMARY KEY (session, step, ordinal),
  FOREIGN KEY (session, step) REFERENCES steps (session, step) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
CREATE TABLE state_copies (
  session INTEGER NOT NULL,
  step INTEGER NOT NULL,
  launch INTEGER NOT NULL,
  ordinal INTEGER NOT NULL,
  decision INTEGER NOT NULL,
  grp INTEGER NOT NULL,
  conv_src_block INTEGER NOT NULL,
  temporal_src_block INTEGER NOT NULL,
  dst_block INTEGER NOT NULL,
  accept_token_bias INTEGER NOT NULL,
  PRIMARY KEY (session, step, launch, ordinal),
  FOREIGN KEY (session, step) REFERENCES steps (session, step) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
INSERT INTO "state_copies" VALUES(1,2,1,0,0,1,2,3,2,1);
INSERT INTO "state_copies" VALUES(1,3,0,0,0,1,2,2,3,0);
CREATE TABLE step_groups (
  session INTEGER NOT NULL,
  step INTEGER NOT NULL,
  grp INTEGER NOT NULL,
  accepted_counts_given INTEGER NOT NULL,
  reused_metadata INTEGER NOT NULL,
  persistent_buffers_step INTEGER NOT NULL,
  PRIMARY KEY (session, step, grp),
  FOREIGN KEY (session, step) REFERENCES steps (session, step) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
INSERT INTO "step_groups" VALUES(1,1,0,1,0,0);
INSERT INTO "step_groups" VALUES(1,1,1,1,0,0);
INSERT INTO "step_groups" VALUES(1,2,0,1,0,0);
INSERT INTO "step_groups" VALUES(1,2,1,1,0,2);
INSERT INTO "step_groups" VALUES(1,3,0,1,0,0);
INSERT INTO "step_groups" VALUES(1,3,1,1,0,3);
CREATE TABLE steps (
  session INTEGER NOT NULL REFERENCES sessions (session) ON DELETE CASCADE,
  step INTEGER NOT NULL,
  committed_step INTEGER NOT NULL,
  time_us INTEGER NOT NULL,
  duration_us INTEGER NOT NULL,
  token_budget INTEGER NOT NULL,
  budget_overridden INTEGER NOT NULL,
  num_scheduled_tokens INTEGER NOT NULL,
  num_running INTEGER NOT NULL,
  num_waiting INTEGER NOT NULL,
  num_free_blocks INTEGER NOT NULL,
  num_unfinished INTEGER NOT NULL,
  num_pending_commands INTEGER NOT NULL,
  num_reqs INTEGER NOT NULL,
  num_prefills INTEGER NOT NULL,
  num_draft_tokens INTEGER NOT NULL,
  num_prompt_tokens INTEGER NOT NULL,
  num_hit_tokens INTEGER NOT NULL,
  num_output_tokens INTEGER NOT NULL,
  num_finished INTEGER NOT NULL,
  num_preempted INTEGER NOT NULL,
  num_evicted INTEGER NOT NULL,
  num_state_copies INTEGER NOT NULL,
  state_copy_bytes INTEGER NOT NULL,
  num_errors INTEGER NOT NULL,
  num_warnings INTEGER NOT NULL,
  PRIMARY KEY (session, step)
) STRICT, WITHOUT ROWID;
INSERT INTO "steps" VALUES(1,1,1,0,20180,8192,0,6,1,0,12,1,1,1,1,0,6,0,1,0,0,0,0,0,0,0);
INSERT INTO "steps" VALUES(1,2,2,20180,20060,8192,0,2,1,0,11,1,0,1,0,1,0,0,2,0,0,0,1,896,0,0);
INSERT INTO "steps" VALUES(1,3,3,40240,20060,8192,0,2,1,0,10,0,0,1,0,1,0,0,1,1,0,0,1,1024,0,0);
CREATE TABLE worker_table_changes (
  session INTEGER NOT NULL,
  step INTEGER NOT NULL,
  ordinal INTEGER NOT NULL,
  request INTEGER NOT NULL,
  grp INTEGER NOT NULL,
  col INTEGER NOT NULL,
  block INTEGER NOT NULL,
  PRIMARY KEY (session, step, ordinal),
  FOREIGN KEY (session, step) REFERENCES steps (session, step) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
INSERT INTO "worker_table_changes" VALUES(1,1,0,0,0,0,1);
INSERT INTO "worker_table_changes" VALUES(1,1,1,0,1,0,2);
INSERT INTO "worker_table_changes" VALUES(1,1,2,0,1,1,3);
INSERT INTO "worker_table_changes" VALUES(1,2,0,0,0,1,4);
INSERT INTO "worker_table_changes" VALUES(1,3,0,0,1,2,5);
CREATE TABLE write_events (
  session INTEGER NOT NULL,
  step INTEGER NOT NULL,
  place INTEGER NOT NULL,
  kind INTEGER NOT NULL,
  ordinal INTEGER NOT NULL,
  request INTEGER NOT NULL,
  num_tokens INTEGER NOT NULL,
  grp INTEGER NOT NULL,
  content INTEGER NOT NULL,
  col INTEGER NOT NULL,
  block INTEGER NOT NULL,
  fingerprint INTEGER NOT NULL,
  PRIMARY KEY (session, step, place),
  FOREIGN KEY (session, step) REFERENCES steps (session, step) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
INSERT INTO "write_events" VALUES(1,1,0,5,0,0,6,0,3,0,1,994136444442364688);
INSERT INTO "write_events" VALUES(1,1,1,1,1,0,6,1,1,0,2,994136444442364688);
INSERT INTO "write_events" VALUES(1,1,2,1,2,0,6,1,2,0,2,994136444442364688);
INSERT INTO "write_events" VALUES(1,2,0,5,0,0,8,0,3,0,1,4719368459751124980);
INSERT INTO "write_events" VALUES(1,2,1,2,1,0,7,1,1,0,2,2310494619221774999);
INSERT INTO "write_events" VALUES(1,2,2,2,2,0,8,1,1,1,3,4719368459751124980);
INSERT INTO "write_events" VALUES(1,2,3,2,3,0,8,1,2,0,2,2310494619221774999);
INSERT INTO "write_events" VALUES(1,2,4,4,4,0,8,1,1,0,2,4719368459751124980);
INSERT INTO "write_events" VALUES(1,2,5,4,5,0,8,1,2,0,2,4719368459751124980);
INSERT INTO "write_events" VALUES(1,3,0,3,0,0,8,1,1,1,3,4719368459751124980);
INSERT INTO "write_events" VALUES(1,3,1,3,1,0,8,1,2,1,3,4719368459751124980);
INSERT INTO "write_events" VALUES(1,3,2,5,2,0,10,0,3,1,4,1787462800601407586);
INSERT INTO "write_events" VALUES(1,3,3,2,3,0,9,1,1,1,3,-2491482458868764128);
INSERT INTO "write_events" VALUES(1,3,4,2,4,0,10,1,1,2,5,1787462800601407586);
INSERT INTO "write_events" VALUES(1,3,5,2,5,0,10,1,2,1,3,-2491482458868764128);
CREATE INDEX sessions_by_parent ON sessions (parent);
CREATE INDEX write_events_by_block ON write_events (session, block, step, place);
CREATE INDEX bookmarks_by_step ON bookmarks (session, step);
CREATE VIEW v_steps AS
SELECT s.session, n.name AS session_name, s.step, s.committed_step, s.time_us, s.duration_us,
  s.num_scheduled_tokens, s.token_budget, s.num_reqs, s.num_prefills, s.num_draft_tokens,
  s.num_prompt_tokens, s.num_hit_tokens, s.num_output_tokens, s.num_running, s.num_waiting,
  s.num_finished, s.num_preempted, s.num_evicted, s.num_free_blocks, s.num_state_copies,
  s.state_copy_bytes, m.name AS runtime_mode,
  CASE WHEN g.runtime_mode = 0 THEN 0
    ELSE g.num_tokens_padded - s.num_scheduled_tokens END AS num_padding_tokens,
  s.num_errors, s.num_warnings
FROM steps s
JOIN sessions n ON n.session = s.session
JOIN graph_padding g ON g.session = s.session AND g.step = s.step
LEFT JOIN enum_names m ON m.enum = 'runtime_mode' AND m.code = g.runtime_mode;
CREATE VIEW v_rows AS
SELECT r.session, n.name AS session_name, r.step, r.row, r.request, q.name AS request_name,
  a.name AS admission, c.name AS row_class, r.is_prefilling, r.num_computed_tokens,
  r.reported_num_computed_tokens, r.num_scheduled_tokens, r.num_draft_tokens, r.num_tokens,
  r.num_hit_tokens, r.num_accepted_tokens_before, r.num_accepted_tokens, r.num_sampled_tokens,
  f.name AS accepted_from, r.num_draft_count, r.slot, r.previous_row, o.name AS origin
FROM rows r
JOIN sessions n ON n.session = r.session
LEFT JOIN requests q ON q.session = r.session AND q.request = r.request
LEFT JOIN requests f ON f.session = r.session AND f.request = r.accepted_from
LEFT JOIN enum_names a ON a.enum = 'admission' AND a.code = r.admission
LEFT JOIN enum_names c ON c.enum = 'row_class' AND c.code = r.row_class
LEFT JOIN enum_names o ON o.enum = 'row_origin' AND o.code = r.origin;
CREATE VIEW v_copies AS
SELECT d.session, n.name AS session_name, d.step, l.name AS launch, d.decision, d.row, d.request,
  q.name AS request_name, u.name AS rule, o.name AS outcome, d.mamba_state_idx,
  d.num_accepted_tokens, d.num_scheduled_tokens, d.num_computed_tokens, d.num_draft_tokens,
  d.block_size, d.num_tokens_running_state, d.new_num_computed_tokens, d.aligned_new_computed,
  d.accept_token_bias, d.src_col, d.dst_col, d.resets_accepted_count, c.grp, c.conv_src_block,
  c.temporal_src_block, c.dst_block
FROM copy_decisions d
JOIN sessions n ON n.session = d.session
LEFT JOIN state_copies c ON c.session = d.session AND c.step = d.step AND c.launch = d.launch
  AND c.decision = d.decision
LEFT JOIN requests q ON q.session = d.session AND q.request = d.request
LEFT JOIN enum_names l ON l.enum = 'launch' AND l.code = d.launch
LEFT JOIN enum_names u ON u.enum = 'copy_rule' AND u.code = d.rule
LEFT JOIN enum_names o ON o.enum = 'copy_outcome' AND o.code = d.outcome;
CREATE VIEW v_block_events AS
SELECT e.session, n.name AS session_name, e.step, e.ordinal, e.at_commit, k.name AS kind, e.grp,
  e.request, q.name AS request_name, e.col, e.block, e.ref_cnt, e.num_tokens, e.block_hash
FROM block_events e
JOIN sessions n ON n.session = e.session
LEFT JOIN requests q ON q.session = e.session AND q.request = e.request
LEFT JOIN enum_names k ON k.enum = 'cache_event' AND k.code = e.kind;
CREATE VIEW v_findings AS
SELECT f.session, n.name AS session_name, f.step, f.ordinal, f.severity, f.rule, f.request,
  q.name AS request_name, f.row, f.grp, c.name AS content, f.col, f.block, f.expected, f.seen,
  f.detail, w.name AS cause_kind, f.cause_step, p.name AS cause_request_name, f.cause_num_tokens,
  f.text
FROM findings f
JOIN sessions n ON n.session = f.session
LEFT JOIN requests q ON q.session = f.session AND q.request = f.request
LEFT JOIN requests p ON p.session = f.session AND p.request = f.cause_request
LEFT JOIN enum_names c ON c.enum = 'content' AND c.code = f.content
LEFT JOIN enum_names w ON w.enum = 'write_kind' AND w.code = f.cause_kind;
CREATE VIEW v_requests AS
WITH
  scheduled AS (
    SELECT session, request, min(step) AS first_step, max(step) AS last_step,
      count(*) AS num_steps, sum(num_scheduled_tokens) AS num_scheduled_tokens,
      sum(num_hit_tokens) AS num_hit_tokens, max(num_prompt_tokens) AS num_prompt_tokens
    FROM rows GROUP BY session, request),
  returned AS (
    SELECT session, request, sum(num_appended_tokens) AS num_output_tokens,
      max(finished) AS finished
    FROM commits GROUP BY session, request),
  preempted AS (
    SELECT session, request, count(*) AS num_preemptions FROM preemptions
    GROUP BY session, request),
  copied AS (
    SELECT d.session, d.request, count(*) AS num_state_copies
    FROM state_copies c JOIN copy_decisions d ON d.session = c.session AND d.step = c.step
      AND d.launch = c.launch AND d.decision = c.decision
    GROUP BY d.session, d.request)
SELECT q.session, n.name AS session_name, q.request, q.name AS request_name,
  s.first_step, s.last_step, coalesce(s.num_steps, 0) AS num_steps, s.num_prompt_tokens,
  coalesce(s.num_scheduled_tokens, 0) AS num_scheduled_tokens,
  coalesce(s.num_hit_tokens, 0) AS num_hit_tokens,
  coalesce(r.num_output_tokens, 0) AS num_output_tokens, coalesce(r.finished, 0) AS finished,
  coalesce(p.num_preemptions, 0) AS num_preemptions,
  coalesce(c.num_state_copies, 0) AS num_state_copies
FROM requests q
JOIN sessions n ON n.session = q.session
LEFT JOIN scheduled s ON s.session = q.session AND s.request = q.request
LEFT JOIN returned r ON r.session = q.session AND r.request = q.request
LEFT JOIN preempted p ON p.session = q.session AND p.request = q.request
LEFT JOIN copied c ON c.session = q.session AND c.request = q.request;
CREATE VIEW v_graph_padding AS
SELECT g.session, n.name AS session_name, g.step, m.name AS runtime_mode, d.name AS reason,
  g.uniform_decode, s.num_scheduled_tokens AS num_tokens, g.num_tokens_padded, s.num_reqs,
  g.num_reqs_padded,
  CASE WHEN g.runtime_mode = 0 THEN 0
    ELSE g.num_tokens_padded - s.num_scheduled_tokens END AS num_padding_tokens
FROM graph_padding g
JOIN sessions n ON n.session = g.session
JOIN steps s ON s.session = g.session AND s.step = g.step
LEFT JOIN enum_names m ON m.enum = 'runtime_mode' AND m.code = g.runtime_mode
LEFT JOIN enum_names d ON d.enum = 'dispatch_reason' AND d.code = g.reason;
COMMIT;
PRAGMA application_id = 1215910705;
PRAGMA user_version = 1;
