// What a break expression can ask about a step: the step's own numbers, and the elements of its
// lists (decisions, writes, findings). Names are those of sessions/record/step_fields.h.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/check/finding.h"
#include "core/check/state_write.h"
#include "core/trace/step_trace.h"

namespace hybridscope {

// A step as expressions see it.
struct BreakStep {
  const StepTrace& trace;
  std::span<const Finding> findings;
  std::span<const StateWrite> writes;  // empty when the checker keeps no log of writes
};

enum class BreakType : std::uint8_t {
  number,
  flag,
  word,     // enum; compared by name
  request,  // request; compared by name
};

struct BreakField {
  std::string name;
  BreakType type = BreakType::number;
  std::vector<std::string_view> words;  // enums: [codes]
};

// One element of a list: the values of its fields.
struct BreakElement {
  RequestId request{};               // -1: no request
  std::int32_t index = -1;           // in its list
  std::vector<std::int64_t> values;  // [fields of its kind]
};

// A kind of element: one row of the table.
struct BreakKind {
  std::string_view name;     // "copy"; empty: the step itself
  std::string_view meaning;  // for help
  std::vector<BreakField> fields;
  // Are its fields written without the name of the kind?
  bool is_bare = false;
  // Does it need the checker's log of writes?
  bool reads_writes = false;
  // Fills `elements`, whose storage is reused, and returns how many there are.
  std::function<std::size_t(const BreakStep&, std::vector<BreakElement>&)> collect;
};

// The table of kinds. Element 0 is the step itself, which occurs exactly once.
std::vector<BreakKind> break_kinds();

// The name of a request.
using RequestName = std::function<std::string(RequestId)>;

// A value of the field as it is shown: an enum's name, "yes" or "no", a request's name or "nobody",
// a number.
std::string break_value_words(const BreakField& field, std::int64_t value, const RequestName& name);

// Every kind with its fields and their names, as text of at most 100 columns.
std::string break_help();

}  // namespace hybridscope
