// One cursor for each table with parts of steps, and the rows that need more than their field list.
#pragma once

#include "storage/block_rows.h"
#include "storage/step_loader.h"
#include "storage/table_cursor.h"
#include "storage/table_fields.h"

namespace hybridscope {

// steps and digests: [step fields, counts, digests]
TableCursor make_steps_cursor(ReadContext& context);

// findings: [ordinal, fields]
TableCursor make_finding_cursor(ReadContext& context);

// speech: [words]
TableCursor make_speech_cursor(ReadContext& context);

// A row of metadata_arrays, with its elements.
void read_array(const TableCursor& cursor, ArrayRecord& array);

struct StepLoader::Cursors {
  explicit Cursors(ReadContext& context);

  TableCursor steps;
  TableCursor graph_padding;
  TableCursor commands;
  TableCursor findings;
  TableCursor rows;
  TableCursor commits;
  TableCursor preemptions;
  TableCursor skipped_requests;
  TableCursor token_terms;
  TableCursor lookups;
  TableCursor lookup_groups;
  TableCursor step_groups;
  TableCursor block_events;
  TableCursor worker_table_changes;
  TableCursor copy_decisions;
  TableCursor state_copies;
  TableCursor attention_writes;
  TableCursor metadata_arrays;
  TableCursor write_events;
  TableCursor speech;
};

}  // namespace hybridscope
