// Containers in YAML that start vLLM: services of docker compose, containers of Kubernetes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace hybridscope {

struct ContainerLine {
  std::string line;  // of vllm serve, or a script with one
  std::string image;
  std::vector<std::string> notes;
};

// Has the text lines of such a description ("image:", "args:"), and not of a shell?
bool is_container_spec(std::string_view text);

// The first container that starts vLLM, however deep it lies in the text: its entrypoint, command
// and args, and those of its variables that begin with VLLM_. ${NAME:-value} is the value, $(NAME)
// that of the container's variable.
// Errors: no YAML; no such container.
Result<ContainerLine> line_of_container_spec(std::string_view text);

}  // namespace hybridscope
