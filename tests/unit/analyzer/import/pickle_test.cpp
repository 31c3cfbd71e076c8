// SPDX-License-Identifier: Apache-2.0
// The reader of pickles: plain data of all protocols, nothing else, and whatever a file that ends early still holds.
#include "analyzer/import/pickle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/analyzer/import/pickle_writer.h"

namespace plumb::test {
namespace {

using import::PlainDocument;
using import::PlainKind;
using import::PlainValue;
using namespace std::string_literals;
using testing::HasSubstr;

PlainDocument read(const std::string& bytes) {
  auto document = import::readPickle(bytes);
  EXPECT_TRUE(document.ok()) << (document.ok() ? "" : document.error().message);
  return document.ok() ? std::move(document).value() : PlainDocument();
}

// As Python would print it.
std::string printed(const PlainDocument& document, const PlainValue& value, int depth = 0) {
  if (depth > 8) return "…";
  const auto list = [&](const char* open, const char* close) {
    std::string text = open;
    for (const PlainValue& item : document.items(value)) {
      text += (text == open ? "" : ", ") + printed(document, item, depth + 1);
    }
    return text + close;
  };
  switch (value.kind) {
    case PlainKind::None:
      return "None";
    case PlainKind::Boolean:
      return value.integer != 0 ? "True" : "False";
    case PlainKind::Integer:
      return std::to_string(value.integer);
    case PlainKind::LongInteger:
      return "long";
    case PlainKind::Real:
      return std::to_string(value.real);
    case PlainKind::Text:
      return "'" + std::string(value.view()) + "'";
    case PlainKind::Bytes:
      return "b'" + std::string(value.view()) + "'";
    case PlainKind::List:
      return list("[", "]");
    case PlainKind::Tuple:
      return list("(", ")");
    case PlainKind::Set:
      return list("{", "}");
    case PlainKind::Dict:
      return list("dict(", ")");
  }
  return "?";
}
std::string readAndPrinted(const std::string& bytes) {
  const PlainDocument document = read(bytes);
  EXPECT_FALSE(document.problem()) << *document.problem();
  return printed(document, document.root());
}

struct Case {
  const char* name;
  std::string bytes;
  std::string expected;
};
class Plain : public testing::TestWithParam<Case> {};

TEST_P(Plain, IsRead) { EXPECT_EQ(readAndPrinted(GetParam().bytes), GetParam().expected); }

// What Python's pickle.dumps gives for these values.
INSTANTIATE_TEST_SUITE_P(
    Protocols, Plain,
    testing::Values(
        Case{"Protocol0", "(dp0\nVa\np1\n(lp2\nI1\naI01\naF1.5\naNasV\\u00e9\np3\nL-5L\ns."s,
             "dict('a', [1, True, 1.500000, None], 'é', -5)"},
        Case{"Protocol0Text", "S'it\\'s\\n'\np0\n."s, "'it's\n'"},
        Case{"Protocol1", "}q\x00(U\x01"s + "aq\x01]q\x02(K\x01M\x00\x02J\xff\xff\xff\xff"s + "eu."s,
             "dict('a', [1, 512, -1])"},
        Case{"Protocol2", "\x80\x02(X\x01\x00\x00\x00"s + "aq\x00\x88\x89\x8a\x02\x00\x80tq\x01."s,
             "('a', True, False, -32768)"},
        Case{"Protocol3Bytes", "\x80\x03"s + "C\x02" + "ab."s, "b'ab'"},
        Case{"Protocol4",
             "\x80\x04\x95\x0b\x00\x00\x00\x00\x00\x00\x00]\x94(\x8c\x01"s + "a\x94h\x01\x8f\x94(K\x07\x90"s + "e."s,
             "['a', 'a', {7}]"},
        Case{"Protocol5Bytearray", "\x80\x05\x96\x01\x00\x00\x00\x00\x00\x00\x00"s + "z."s, "b'z'"},
        Case{"Tuples", "\x80\x02K\x01\x85K\x02K\x03\x86K\x04K\x05K\x06\x87\x87."s, "((1), (2, 3), (4, 5, 6))"},
        Case{"LongOf64Bits", "\x80\x02\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f."s, "9223372036854775807"},
        Case{"LongOfMore", "\x80\x02\x8a\x09\xff\xff\xff\xff\xff\xff\xff\xff\x00."s, "long"},
        Case{"FrozenSet", "\x80\x04(K\x01K\x02\x91."s, "{1, 2}"},
        Case{"SameListTwice", "\x80\x02]q\x00K\x01"s + "ah\x00\x86."s, "([1], [1])"}),
    [](const auto& one) { return one.param.name; });

TEST(Pickle, AListThatHoldsItselfIsRead) {
  const PlainDocument document = read("\x80\x02]q\x00h\x00"s + "a."s);
  ASSERT_EQ(document.items(document.root()).size(), 1u);
  EXPECT_EQ(PlainDocument::identity(document.items(document.root())[0]), PlainDocument::identity(document.root()));
}

TEST(Pickle, NestingIsNotLimitedByTheStack) {
  constexpr size_t kDepth = 1'000'000;
  const PlainDocument document = read("\x80\x02" + std::string(kDepth, ']') + std::string(kDepth - 1, 'a') + ".");
  EXPECT_FALSE(document.problem());
  EXPECT_EQ(document.containerCount(), kDepth);
}

TEST(Pickle, SharingCostsOnlyReferences) {
  // Each list holds the one before twice: 2^60 values for whoever would walk through it.
  std::string bytes = "\x80\x02]q\x00"s;
  for (int i = 0; i < 60; ++i) {
    bytes += "]q"s + static_cast<char>(i + 1) + "(h"s + static_cast<char>(i) + "h"s + static_cast<char>(i) + "e"s;
  }
  const PlainDocument document = read(bytes + ".");
  EXPECT_EQ(document.containerCount(), 61u);
}

struct RefusedCase {
  const char* name;
  std::string bytes;
  size_t offset;
};
class Refused : public testing::TestWithParam<RefusedCase> {};

TEST_P(Refused, WithTheOpcodeAndItsPlace) {
  const auto document = import::readPickle(GetParam().bytes);
  ASSERT_FALSE(document.ok());
  EXPECT_THAT(document.error().message,
              HasSubstr("the opcode "s + GetParam().name + " at byte " + std::to_string(GetParam().offset)));
}

// Or the reading stops there, and what was complete before stays.
TEST_P(Refused, OrAsDamage) {
  const size_t offset = GetParam().offset;
  const std::string list = "](K\x05K\x06"s;
  const size_t head = GetParam().bytes.starts_with("\x80") ? 2 : 0;
  std::string bytes = GetParam().bytes;
  bytes.insert(head, list);
  const auto document = import::readPickle(bytes, import::kMostPickleValues, import::AtRefusal::Break);
  ASSERT_TRUE(document.ok());
  ASSERT_TRUE(document.value().problem());
  EXPECT_THAT(*document.value().problem(),
              HasSubstr("the opcode "s + GetParam().name + " at byte " + std::to_string(offset + list.size())));
  const auto items = document.value().items(document.value().root());
  ASSERT_GE(items.size(), 2u);
  EXPECT_EQ(items[0].toInteger(), 5);
}

TEST(Pickle, ADamagedHeadCostsNothing) {
  for (const int protocol : {2, 4}) {
    const std::string whole = pickledText(R"({"a": 1})", protocol);
    for (const size_t place : {size_t{0}, size_t{1}}) {
      for (const int bit : {0, 2, 5, 7}) {
        std::string bytes = whole;
        bytes[place] = static_cast<char>(bytes[place] ^ 1 << bit);
        EXPECT_TRUE(import::looksLikePickle(bytes));
        EXPECT_EQ(read(bytes).integer(read(bytes).root(), "a"), 1) << protocol << " " << place << " " << bit;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Opcodes, Refused,
    testing::Values(RefusedCase{"GLOBAL", "\x80\x02"s + "cos\nsystem\nX\x02\x00\x00\x00ls\x85R."s, 2},
                    RefusedCase{"STACK_GLOBAL", "\x80\x04\x8c\x02os\x8c\x06system\x93."s, 14},
                    RefusedCase{"REDUCE", "\x80\x02K\x01)R."s, 5}, RefusedCase{"BUILD", "\x80\x02K\x01}"s + "b."s, 5},
                    RefusedCase{"INST", "(ios\nsystem\n."s, 1}, RefusedCase{"OBJ", "\x80\x02(o."s, 3},
                    RefusedCase{"NEWOBJ", "\x80\x02K\x01)\x81."s, 5},
                    RefusedCase{"NEWOBJ_EX", "\x80\x04K\x01)}\x92."s, 6}, RefusedCase{"EXT1", "\x80\x02\x82\x01."s, 2},
                    RefusedCase{"EXT2", "\x80\x02\x83\x01\x00."s, 2},
                    RefusedCase{"EXT4", "\x80\x02\x84\x01\x00\x00\x00."s, 2}, RefusedCase{"PERSID", "P7\n."s, 0},
                    RefusedCase{"BINPERSID", "\x80\x02K\x01Q."s, 4}, RefusedCase{"NEXT_BUFFER", "\x80\x05\x97."s, 2},
                    RefusedCase{"READONLY_BUFFER", "\x80\x05K\x01\x98."s, 4}),
    [](const auto& one) { return one.param.name; });

struct DamagedCase {
  const char* name;
  std::string bytes;
};
class Damaged : public testing::TestWithParam<DamagedCase> {};

TEST_P(Damaged, SaysWhere) {
  const PlainDocument document = read(GetParam().bytes);
  ASSERT_TRUE(document.problem());
  EXPECT_THAT(*document.problem(), HasSubstr("at byte "));
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, Damaged,
    testing::Values(DamagedCase{"UnknownOpcode", "\x80\x02\xff."s}, DamagedCase{"NewerProtocol", "\x80\x09N."s},
                    DamagedCase{"NothingOnTheStack", "\x80\x02."s}, DamagedCase{"NoMark", "\x80\x02]e."s},
                    DamagedCase{"KeyWithoutValue", "\x80\x02}(K\x01u."s},
                    DamagedCase{"ItemsForANumber", "\x80\x02K\x01(K\x02"s + "e."s},
                    DamagedCase{"AppendToNothing", "\x80\x02K\x01"s + "a."s},
                    DamagedCase{"UnknownReference", "\x80\x02h\x05."s},
                    DamagedCase{"TextLongerThanTheFile", "\x80\x02X\xff\xff\xff\x7f"s + "abc."s},
                    DamagedCase{"LongLongerThanTheFile", "\x80\x02\x8b\xff\xff\xff\x7f."s},
                    DamagedCase{"EightByteLength", "\x80\x04\x8e\xff\xff\xff\xff\xff\xff\xff\xff."s},
                    DamagedCase{"LineWithoutEnd", "(dp0"s}, DamagedCase{"NumberThatIsNone", "I12x\n."s},
                    DamagedCase{"Empty", ""s}, DamagedCase{"TextWithoutQuotes", "Sabc\n."s},
                    DamagedCase{"HighMemoNumber", "\x80\x02Nr\xff\xff\xff\xffh\x00."s}),
    [](const auto& one) { return one.param.name; });

const char* const kNested = R"({"a": [{"x": 1, "y": "two"}, {"x": 3, "y": "four"}, {"x": 5, "y": "six"}], "b": [7]})";

TEST(Pickle, DataThatEndsEarlyGivesWhatWasCompleteWhateverTheByte) {
  for (const int protocol : {2, 4}) {
    const std::string whole = pickledText(kNested, protocol);
    size_t last = 0;
    for (size_t length = 0; length < whole.size(); ++length) {
      const PlainDocument document = read(whole.substr(0, length));
      ASSERT_TRUE(document.problem()) << length;
      const PlainValue* list = document.find(document.root(), "a");
      size_t complete = 0;
      for (const PlainValue& item : list ? document.items(*list) : std::span<const PlainValue>()) {
        if (document.isCut(item)) continue;
        ++complete;
        EXPECT_EQ(document.integer(item, "x"), static_cast<int64_t>(2 * complete - 1)) << length;
        EXPECT_FALSE(document.text(item, "y").empty()) << length;
      }
      EXPECT_GE(complete, last) << length;
      last = complete;
    }
    EXPECT_EQ(last, 3u);
  }
}

TEST(Pickle, AnyByteMayBeWrong) {
  const std::string whole = pickledText(kNested);
  for (size_t at = 0; at < whole.size(); ++at) {
    for (const int change : {0x01, 0x80, 0xFF}) {
      std::string bytes = whole;
      bytes[at] = static_cast<char>(bytes[at] ^ change);
      (void)import::readPickle(bytes);
    }
  }
}

}  // namespace
}  // namespace plumb::test
