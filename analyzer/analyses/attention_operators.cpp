// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/attention_operators.h"

#include <algorithm>
#include <array>

#include "analyzer/analyses/operator_tensors.h"

namespace plumb {
namespace {

constexpr size_t kNone = SIZE_MAX;

// A causal mask of as many queries as keys leaves the same pairs however it is aligned.
enum class Mask : uint8_t {
  Causal,             // "True" or "False"
  CausalBottomRight,  // the same; the last query sees all keys
  Custom,             // 0 none, 1 the first query sees the first key, 2 the last sees all
};

// Where an operator has what among its arguments, whose number tells versions of torch apart (0: any number).
struct Attention {
  std::string_view name;
  size_t count;
  size_t query;  // then key and value; 0: forward, 1: backward, behind the result's gradient
  size_t heads;  // dimension of the heads; the sequence is the other one of 1 and 2
  size_t mask;
  Mask maskKind = Mask::Causal;
  size_t bias = kNone;     // added to the scores
  size_t lengths = kNone;  // of packed sequences
  size_t window = kNone;   // the first of two sizes
  size_t used = kNone;     // how much of each sequence of keys is used
};
constexpr std::array kOperators = std::to_array<Attention>({
    {"aten::_flash_attention_forward", 0, 0, 2, 8, Mask::Causal, kNone, 3, 11, 13},
    {"aten::_flash_attention_backward", 0, 1, 2, 11, Mask::Causal, kNone, kNone, 15},
    {"aten::_efficient_attention_forward", 13, 0, 2, 8, Mask::Custom, 3, 4, kNone, 12},  // older
    {"aten::_efficient_attention_forward", 14, 0, 2, 9, Mask::Custom, 3, 4, 13, 12},
    {"aten::_efficient_attention_backward", 0, 1, 2, 14, Mask::Custom, 4, 6, 18},
    {"aten::_scaled_dot_product_cudnn_attention", 7, 0, 1, 4},  // older
    {"aten::_scaled_dot_product_cudnn_attention", 9, 0, 1, 6, Mask::Causal, 3},
    {"aten::_scaled_dot_product_cudnn_attention_backward", 15, 1, 1, 11},  // older
    {"aten::_scaled_dot_product_cudnn_attention_backward", 16, 1, 1, 14, Mask::Causal, 8, 9},
    {"aten::_cudnn_attention_forward", 0, 0, 1, 10, Mask::Causal, 3, 4, kNone, 13},
    {"aten::_cudnn_attention_backward", 0, 1, 1, 14, Mask::Causal, 8, 9},
    {"flash_attn::_flash_attn_forward", 0, 0, 2, 5, Mask::CausalBottomRight, kNone, kNone, 6},
    {"flash_attn::_flash_attn_backward", 0, 1, 2, 11, Mask::CausalBottomRight, kNone, kNone, 12},
});

const Attention* find(std::string_view name, size_t count) {
  const auto* found = std::ranges::find_if(
      kOperators, [&](const Attention& a) { return a.name == name && (a.count == 0 || a.count == count); });
  return found == kOperators.end() ? nullptr : found;
}

// A size of -1 or none is no window.
bool hasWindow(const OperatorArguments& arguments, const Attention& entry) {
  if (entry.window == kNone) return false;
  const std::string_view left = arguments.value(entry.window), right = arguments.value(entry.window + 1);
  const auto isSize = [](std::string_view text) { return integerOf(text).value_or(-1) >= 0; };
  if (entry.maskKind == Mask::Custom) return isSize(left);  // one size
  return isSize(left) || isSize(right);
}

// 1 + 2 + … + n
double triangle(double n) { return n * (n + 1) / 2; }

double pairsOfTopLeft(double queries, double keys) {
  return queries <= keys ? triangle(queries) : triangle(keys) + (queries - keys) * keys;
}
double pairsOfBottomRight(double queries, double keys) {
  return queries <= keys ? queries * (keys - queries) + triangle(queries) : triangle(keys);
}

// Of a query and a key, for one head of one sequence.
std::optional<double> pairs(const OperatorArguments& arguments, const Attention& entry, double queries, double keys) {
  const std::string_view mask = arguments.value(entry.mask);
  if (mask == (entry.maskKind == Mask::Custom ? "0" : "False")) return queries * keys;
  if (entry.maskKind == Mask::Custom) {
    if (mask == "1") return pairsOfTopLeft(queries, keys);
    return mask == "2" ? std::optional(pairsOfBottomRight(queries, keys)) : std::nullopt;
  }
  if (mask != "True" || (entry.maskKind == Mask::Causal && queries != keys)) return std::nullopt;
  return pairsOfBottomRight(queries, keys);
}

struct Sizes {
  double batch, heads, queries, keys, keyHead, valueHead;
};

std::optional<Sizes> sizesOf(const OperatorArguments& arguments, const Attention& entry) {
  const Shape &query = arguments.shape(entry.query), &key = arguments.shape(entry.query + 1),
              &value = arguments.shape(entry.query + 2);
  constexpr size_t kDimensions = 4;
  if (query.size() != kDimensions || key.size() != kDimensions || value.size() != kDimensions) return std::nullopt;
  const size_t sequence = entry.heads == 1 ? 2 : 1;
  if (query[3] != key[3] || key[sequence] != value[sequence] || query[0] != key[0]) return std::nullopt;
  const auto number = [](int64_t n) { return static_cast<double>(n); };
  return Sizes{number(query[0]),      number(query[entry.heads]), number(query[sequence]),
               number(key[sequence]), number(query[3]),           number(value[3])};
}

// Of the tensors that come first, and of the mask, which may stand among them.
std::optional<double> bytesRead(const OperatorArguments& arguments, const Attention& entry) {
  const size_t count = entry.query == 0 ? 3 : 5;  // queries, keys and values; backward also gradient and result
  double bytes = 0;
  for (size_t place = 0, read = 0; read < count; ++place) {
    if (place == entry.bias) continue;
    const auto tensor = tensorAt(arguments, place);
    if (!tensor) return std::nullopt;
    bytes += storedBytes(arguments, *tensor);
    ++read;
  }
  if (entry.bias == kNone || arguments.isPlain(entry.bias)) return bytes;
  const auto bias = tensorAt(arguments, entry.bias);
  return bias ? std::optional(bytes + storedBytes(arguments, *bias)) : std::nullopt;
}

}  // namespace

bool isAttentionOperator(std::string_view name) { return findEntry(kOperators, name) != nullptr; }

std::optional<OperatorWork> workOfAttention(std::string_view name, const OperatorArguments& arguments) {
  const Attention* entry = find(name, arguments.count());
  if (!entry || hasWindow(arguments, *entry)) return std::nullopt;
  for (const size_t place : {entry->lengths, entry->used}) {
    if (place != kNone && !arguments.isPlain(place)) return std::nullopt;
  }
  const auto sizes = sizesOf(arguments, *entry);
  const auto read = bytesRead(arguments, *entry);
  const auto scored = sizes ? pairs(arguments, *entry, sizes->queries, sizes->keys) : std::nullopt;
  const ElementType* type = arguments.type(entry->query);
  if (!scored || !read || !type || type->precision.empty()) return std::nullopt;
  const bool isBackward = entry->query == 1;
  const double perPair =
      isBackward ? 2 * (3 * sizes->keyHead + 2 * sizes->valueHead) : 2 * (sizes->keyHead + sizes->valueHead);
  double written = sizes->batch * sizes->heads * sizes->queries * sizes->valueHead;
  if (isBackward) {
    written = product(arguments.shape(1)) + product(arguments.shape(2)) + product(arguments.shape(3));
  }
  const double flops = sizes->batch * sizes->heads * *scored * perPair;
  if (flops <= 0) return std::nullopt;
  return OperatorWork{flops, *read + written * type->bytes, std::string(type->precision), type->precision == "fp32"};
}

}  // namespace plumb
