// Texts of lists and dicts that come again with the same objects in them, step after step.
#pragma once

#include <pybind11/pybind11.h>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace hybridscope {

// Each function, the destructor too, requires the GIL.
class RepeatedTexts {
 public:
  // Containers of fewer items are not worth it.
  static constexpr std::size_t kMinItems = 32;

  RepeatedTexts() = default;
  RepeatedTexts(const RepeatedTexts&) = delete;
  RepeatedTexts& operator=(const RepeatedTexts&) = delete;
  ~RepeatedTexts();

  // What keep() was given at `place`, if `container` (a list, a tuple or a dict) has the same
  // objects in it; else null. The objects themselves are not looked at.
  std::shared_ptr<const std::string> find(std::size_t place, pybind11::handle container);
  // The container's items do not change. What differs each time is kept now and then only.
  void keep(std::size_t place, pybind11::handle container, std::string_view text);

 private:
  struct Kept {
    std::vector<PyObject*> items;  // owned: an address is not used again
    std::shared_ptr<const std::string> text;
    unsigned misses = 0;  // since the last hit
  };
  static constexpr std::size_t kMaxPlaces = 64;
  static constexpr unsigned kMaxMisses = 3;
  static constexpr unsigned kRetry = 16;

  static void forget(Kept& kept);

  std::unordered_map<std::size_t, Kept> places_;
};

}  // namespace hybridscope
