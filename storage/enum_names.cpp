#include <array>
#include <cstddef>

#include "sessions/record/enum_codes.h"
#include "sessions/record/value_names.h"
#include "storage/schema.h"

namespace hybridscope {
namespace {

// Numbers in the tables that are not enums in C++, or that get shorter names.
constexpr std::array kLaunches = {"before_forward", "after_sampling"};
constexpr std::array kWriteKinds = {"never",    "prefill",   "decode",
                                    "pre_copy", "post_copy", "attention"};
constexpr std::array kContentKinds = {"none", "temporal", "conv", "attention"};
constexpr std::array kArrayDtypes = {"boolean", "int32", "int64", "host_int", "host_bool"};

class Table {
 public:
  template <std::size_t N>
  void add(std::string_view of, const std::array<const char*, N>& names) {
    for (std::size_t code = 0; code < N; ++code)
      rows_.push_back({of, static_cast<std::int32_t>(code), names[code]});
  }
  template <class Enum>
  void add(std::string_view of) {
    for (std::int32_t code = 0; code < num_codes<Enum>(); ++code)
      rows_.push_back({of, code, value_names::name(static_cast<Enum>(code))});
  }
  std::vector<EnumName> take() { return std::move(rows_); }

 private:
  std::vector<EnumName> rows_;
};

}  // namespace

std::vector<EnumName> enum_names() {
  Table table;
  table.add<CommandKind>("command");
  table.add<CommandOutcome>("command_outcome");
  table.add<IgnoredReason>("ignored_reason");
  table.add<Admission>("admission");
  table.add<RowClass>("row_class");
  table.add<RowOrigin>("row_origin");
  table.add<CommitOutcome>("commit_outcome");
  table.add<SkipReason>("skip_reason");
  table.add<LookupStop>("lookup_stop");
  table.add<CacheEventKind>("cache_event");
  table.add<CUDAGraphMode>("runtime_mode");
  table.add<CudagraphDispatchReason>("dispatch_reason");
  table.add("launch", kLaunches);
  table.add<StateCopyRule>("copy_rule");
  table.add<StateCopyOutcome>("copy_outcome");
  table.add("write_kind", kWriteKinds);
  table.add("content", kContentKinds);
  table.add("array_dtype", kArrayDtypes);
  return table.take();
}

}  // namespace hybridscope
