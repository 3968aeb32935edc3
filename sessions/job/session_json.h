// Session files and steps as JSON.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "core/base/result.h"
#include "core/check/finding.h"
#include "core/trace/step_trace.h"
#include "sessions/explain/explain_names.h"
#include "sessions/record/step_record.h"
#include "sessions/run/finding_list.h"
#include "storage/session_file.h"
#include "storage/session_player.h"
#include "storage/session_query.h"
#include "storage/session_reader.h"

namespace hybridscope {

// An element of `sessions list --json`.
nlohmann::ordered_json session_to_json(const SessionInfo& info);

// Behind the text of a cell that was cut: "... (12,345,678 bytes)".
std::string cut_mark(const CutText& cut);

// A value of `sessions query --json`; of a blob {blob_bytes}.
nlohmann::ordered_json query_value_to_json(const QueryValue& value);

// One step of a recorded session as JSON and in words.

// The names of a session's requests and groups. `player` must outlive them.
Names session_names(SessionPlayer& player);

// Moves to the step. `names`: session_names(). Errors: those of SessionPlayer::go_to.
Result<nlohmann::ordered_json> recorded_step_to_json(SessionPlayer& player, std::int64_t step,
                                                     const Names& names);
// Everything about the step in words. Error invalid_input: the session's level is counts.
Result<std::string> explain_recorded_step(SessionPlayer& player, std::int64_t step,
                                          const Names& names);

// Does the session know how many blocks were free? Another engine's decisions do not say it.
bool knows_free_blocks(SessionPlayer& player);

// The findings of a recorded session: grouped by what each follows from, with the known bug behind.

// Up to step `last`. Steps are read for roots only. Errors: those of the reader.
Result<FindingList> session_findings(SessionReader& reader, const Names& names,
                                     std::int64_t last = INT64_MAX);

// Finds the known bugs or the policies behind findings (find_causes), by running the session's plan
// again; empty for a session of `judge`, and for a plan that this version cannot read.
FindingList::FindCauses session_cause_finder(const SessionInfo& info);

// "hybridscope sessions show runs.db:before --step 12 --explain".
std::string show_step_words(const SessionPlace& place, std::int64_t step);

// One step as one JSON object (`hybridscope run --jsonl`, `hybridscope sessions show --json`).

nlohmann::ordered_json step_to_json(const StepTrace& trace, const Names& names,
                                    std::span<const Finding> findings);

// A recorded step in the same form, with its sums as "counts". Lists that the level does not keep
// are left out: an empty one would say that there was nothing.
nlohmann::ordered_json record_to_json(const StepRecord& record, RecordLevel level,
                                      const Names& names);

}  // namespace hybridscope
