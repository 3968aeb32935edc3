// A Python record as one line of JSON, in two steps: what needs the GIL, and the rest.
#pragma once

#include <pybind11/pybind11.h>

#include <cstddef>
#include <string>
#include <vector>

namespace hybridscope {

class RecordText {
 public:
  // Takes dicts, lists, tuples, sets (sorted), text, numbers, None, and arrays of whole numbers,
  // floats or booleans: objects with the buffer protocol, of any shape, whose bytes are copied, or
  // whose host_array() gives one. Other objects are asked for tolist(). Throws the Python exception
  // of a value that cannot be taken. Requires: the GIL.
  explicit RecordText(const pybind11::handle& record);

  // The line, newline included. Without the GIL.
  std::string line() const;

 private:
  struct Array {
    std::size_t at = 0;  // where it stands in text_
    std::string format;  // as the buffer protocol names the type of an element
    std::size_t element_size = 0;
    std::vector<std::size_t> shape;
    std::string bytes;
  };

  void add(pybind11::handle value);
  void add_text(pybind11::handle value);
  void add_dict(pybind11::handle value);
  void add_items(pybind11::handle sequence);
  void add_object(pybind11::handle value);
  bool add_array(pybind11::handle value);
  static void append(const Array& array, std::size_t dimension, std::size_t& next,
                     std::string& line);

  std::string text_;  // without the arrays
  std::vector<Array> arrays_;
};

}  // namespace hybridscope
