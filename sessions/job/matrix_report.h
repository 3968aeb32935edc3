// A matrix in words and as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "sessions/matrix/matrix_file.h"
#include "sessions/matrix/matrix_summary.h"

namespace hybridscope {

// Counts, a table by axis value, the faults and where they show, and what is not modelled.
// `folder`: the folder of the faults' scenarios. `to_go_on`: what to do about cells that were not
// run.
std::string format_matrix(const MatrixContents& contents, const MatrixSummary& summary,
                          const std::string& folder, std::string_view to_go_on);

// {engine, seed, ..., cells: {safe, findings, ...}, axes, faults, events, not_modelled, results}.
nlohmann::ordered_json matrix_to_json(const MatrixContents& contents, const MatrixSummary& summary,
                                      const std::vector<MatrixCell>& cells);

// Axes with their values, events and what is not modelled: --list.
std::string format_matrix_axes();
// {axes: [{name, values, meaning}], events: {name: meaning}, not_modelled: {name: why}}.
nlohmann::ordered_json matrix_axes_to_json();

}  // namespace hybridscope
