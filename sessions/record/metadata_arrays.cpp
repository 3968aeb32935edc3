#include "sessions/record/metadata_arrays.h"

#include <utility>

namespace hybridscope {
namespace {

// Appends the arrays it visits.
struct Appender {
  std::vector<ArrayRecord>& arrays;

  template <class T>
  void operator()(std::int32_t group, std::string_view name, const TensorView<T>& view,
                  ArrayDtype dtype) {
    ArrayRecord array{
        .group = group, .name = name, .present = view.present, .dtype = dtype, .values = {}};
    array.rows = view.present ? view.rows : 0;
    array.cols = view.present ? view.cols : 1;
    array.dims = view.dims;
    if (view.present) array.values.assign(view.data, view.data + view.size());
    arrays.push_back(std::move(array));
  }
  void operator()(std::int32_t group, std::string_view name, std::int32_t value, ArrayDtype dtype) {
    arrays.push_back({.group = group, .name = name, .dtype = dtype, .dims = 0, .values = {value}});
  }
};

}  // namespace

void append_arrays(const StepTrace& trace, std::vector<ArrayRecord>& arrays) {
  for_each_array(trace, Appender{arrays});
}

}  // namespace hybridscope
