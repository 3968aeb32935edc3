// A finding in words and as JSON, the same for every command and report.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "core/check/finding.h"
#include "sessions/explain/explain_names.h"

namespace hybridscope {

// One or two sentences without newline: "running-state-wrong: step 13 r5 row 2 group 1 (mamba2)
// column 2: block 17 holds the state of 46 tokens of r5, expected 48; written by the post-copy of
// step 12 (vLLM v1/worker/mamba_utils.py postprocess_mamba_fused_kernel)".
std::string explain_finding(const Finding& finding, const Names& names);

// Keys in this order: rule, severity, step, request, row, group, content, column, block, expected,
// seen, detail, cause {kind, step, ordinal, request, num_tokens}, text. Keys that do not apply are
// null. Findings about bytes end with layer, state, element.
nlohmann::ordered_json finding_to_json(const Finding& finding, const Names& names);

}  // namespace hybridscope
