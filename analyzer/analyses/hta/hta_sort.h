// SPDX-License-Identifier: Apache-2.0
// The order in which sort_values(by=…) leaves rows: numpy's quicksort in its plain form, which does not keep equal
// values in order (median of three, insertion below 17 values, heapsort where the partitions go too deep).
#pragma once
#include <bit>
#include <cstddef>
#include <future>
#include <utility>
#include <vector>

namespace plumb::hta {

namespace numpy {

// Of the elements [first, first + count).
template <class Element, class Less>
void heapSort(Element* first, size_t count, Less less) {
  const auto heap = [first](size_t at) -> Element& { return first[at - 1]; };  // heap(1) … heap(count)
  const auto sink = [&](size_t at, size_t last, Element moved) {
    for (size_t child = 2 * at; child <= last; child = 2 * at) {
      if (child < last && less(heap(child), heap(child + 1))) ++child;
      if (!less(moved, heap(child))) break;
      heap(at) = heap(child);
      at = child;
    }
    heap(at) = moved;
  };
  for (size_t i = count / 2; i > 0; --i) sink(i, count, heap(i));
  for (; count > 1; --count) {
    const Element moved = heap(count);
    heap(count) = heap(1);
    sink(1, count - 1, moved);
  }
}

// From here on of the elements [first, last], last included.
template <class Element, class Less>
void insertionSort(Element* first, Element* last, Less less) {
  for (Element* next = first + 1; next <= last; ++next) {
    const Element moved = *next;
    Element* at = next;
    for (; at > first && less(moved, at[-1]); --at) *at = at[-1];
    *at = moved;
  }
}

// More than three elements. Returns where those that are no less than the pivot begin: the pivot's place.
template <class Element, class Less>
Element* partition(Element* left, Element* right, Less less) {
  Element* const middle = left + ((right - left) >> 1);
  if (less(*middle, *left)) std::swap(*middle, *left);
  if (less(*right, *middle)) std::swap(*right, *middle);
  if (less(*middle, *left)) std::swap(*middle, *left);
  const Element pivot = *middle;
  Element *i = left, *j = right - 1;
  std::swap(*middle, *j);
  for (;;) {
    do ++i;
    while (less(*i, pivot));
    do --j;
    while (less(pivot, *j));
    if (i >= j) break;
    std::swap(*i, *j);
  }
  std::swap(*i, *(right - 1));
  return i;
}

template <class Element>
struct Part {
  Element *left, *right;  // both belong to it
  int depth;              // how often it may still be divided
};

template <class Element, class Less>
void sortPart(Part<Element> whole, Less less) {
  constexpr std::ptrdiff_t kSmall = 15, kWorthAThread = 1 << 18;
  std::vector<Part<Element>> parts{whole};
  std::vector<std::future<void>> others;
  while (!parts.empty()) {
    auto [left, right, depth] = parts.back();
    parts.pop_back();
    if (depth < 0) {
      heapSort(left, static_cast<size_t>(right - left + 1), less);
      continue;
    }
    while (right - left > kSmall) {
      Element* const pivot = partition(left, right, less);
      --depth;
      Part<Element> larger{pivot + 1, right, depth};
      if (pivot - left < right - pivot) {
        right = pivot - 1;
      } else {
        larger = {left, pivot - 1, depth};
        left = pivot + 1;
      }
      if (right - left > kWorthAThread && others.empty()) {
        others.push_back(
            std::async(std::launch::async | std::launch::deferred, [larger, less] { sortPart(larger, less); }));
      } else {
        parts.push_back(larger);
      }
    }
    insertionSort(left, right, less);
  }
  for (std::future<void>& other : others) other.get();
}

}  // namespace numpy

// By what key(element) gives, a number. Large lists are sorted on several threads, which changes nothing of the order.
template <class Element, class Key>
void sortAsNumpy(std::vector<Element>& elements, Key key) {
  if (elements.empty()) return;
  numpy::sortPart<Element>({elements.data(), elements.data() + elements.size() - 1,
                            2 * static_cast<int>(std::bit_width(elements.size()) - 1)},
                           [key](const Element& a, const Element& b) { return key(a) < key(b); });
}

}  // namespace plumb::hta
