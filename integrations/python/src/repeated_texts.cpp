#include "integrations/python/src/repeated_texts.h"

#include <algorithm>
#include <utility>

namespace hybridscope {
namespace {

namespace py = pybind11;

// Calls use(object) for each key and value of a dict, or each item of a list or tuple, while it
// returns true. False: a call did not.
template <class Use>
bool for_all_items(py::handle container, Use use) {
  if (PyDict_Check(container.ptr())) {
    PyObject* key = nullptr;
    PyObject* item = nullptr;
    Py_ssize_t position = 0;
    while (PyDict_Next(container.ptr(), &position, &key, &item) != 0)
      if (!use(key) || !use(item)) return false;
    return true;
  }
  PyObject* const* const items = PySequence_Fast_ITEMS(container.ptr());
  return std::all_of(items, items + PySequence_Fast_GET_SIZE(container.ptr()), use);
}

std::size_t num_objects(py::handle container) {
  return static_cast<std::size_t>(PyDict_Check(container.ptr())
                                      ? 2 * PyDict_Size(container.ptr())
                                      : PySequence_Fast_GET_SIZE(container.ptr()));
}

}  // namespace

RepeatedTexts::~RepeatedTexts() {
  for (auto& [place, kept] : places_) forget(kept);
}

void RepeatedTexts::forget(Kept& kept) {
  for (PyObject* const item : std::exchange(kept.items, {})) Py_DECREF(item);
}

std::shared_ptr<const std::string> RepeatedTexts::find(std::size_t place, py::handle container) {
  const auto found = places_.find(place);
  if (found == places_.end()) return nullptr;
  Kept& kept = found->second;
  auto next = kept.items.begin();
  if (kept.items.size() == num_objects(container) &&
      for_all_items(container, [&](PyObject* item) { return item == *next++; })) {
    kept.misses = 0;
    return kept.text;
  }
  ++kept.misses;
  return nullptr;
}

void RepeatedTexts::keep(std::size_t place, py::handle container, std::string_view text) {
  if (places_.size() >= kMaxPlaces && !places_.contains(place)) return;
  Kept& kept = places_[place];
  forget(kept);
  if (kept.misses > kMaxMisses && kept.misses % kRetry != 0) return;
  kept.items.reserve(num_objects(container));
  for_all_items(container, [&](PyObject* item) {
    Py_INCREF(item);
    kept.items.push_back(item);
    return true;
  });
  kept.text = std::make_shared<const std::string>(text);
}

}  // namespace hybridscope
