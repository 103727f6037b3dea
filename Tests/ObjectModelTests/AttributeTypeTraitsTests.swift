import Foundation
import XCTest

@_spi(Generated) @testable import ObjectModel

/// The properties of attribute types, and the effects of delete rules.
final class AttributeTypeTraitsTests: XCTestCase {
  private static let values: [any AttributeValue] = [
    Int16(-3), Int32(70_000), Int64.max, Decimal(string: "1.25")!, 0.1, Float(0.5), "é", true, Date(timeIntervalSinceReferenceDate: 1.5),
    Data([1, 2]), UUID(), URL(string: "https://example.org/a")!,
  ]

  func testEveryTypeWithASwiftTypeReadsWhatItWrites() throws {
    var types: Set<AttributeType> = []
    for value in Self.values {
      let type = Swift.type(of: value).attributeType
      types.insert(type)
      let attribute = AttributeDescription(name: "a", type: type)
      XCTAssertEqual(type.traits.slot(of: value), value.slot, type.rawValue)
      XCTAssertNil(AttributeChecker.typeFailure(of: value.slot, type: type), type.rawValue)
      let read = try XCTUnwrap(AttributeConversion.value(of: value.slot, attribute))
      XCTAssertEqual((read as? any AttributeValue)?.slot, value.slot, type.rawValue)
      XCTAssertTrue(Swift.type(of: read) == Swift.type(of: value), type.rawValue)
      XCTAssertEqual(type.traits.swiftType?.name, "\(Swift.type(of: value))")
      XCTAssertEqual(type.traits.holders.first, type)
    }
    XCTAssertEqual(types, Set(AttributeType.allCases.filter { $0.traits.swiftType != nil }))
  }

  func testValuesOfAnotherStorageFormDoNotMatch() {
    for value in Self.values {
      for type in AttributeType.allCases where ![.none, Swift.type(of: value).attributeType.slotKind].contains(type.slotKind) {
        XCTAssertEqual(AttributeChecker.typeFailure(of: value.slot, type: type), .wrongType, "\(value) as \(type)")
      }
    }
  }

  func testTypesAndRulesHaveTheNumbersOfCoreData() {
    let types: [UInt: AttributeType] = [
      0: .undefined, 100: .integer16, 200: .integer32, 300: .integer64, 400: .decimal, 500: .double, 600: .float, 700: .string,
      800: .boolean, 900: .date, 1000: .binary, 1100: .uuid, 1200: .uri, 1800: .transformable, 2100: .composite,
    ]
    for (number, type) in types {
      XCTAssertEqual(type.traits.coreData.number, number)
      XCTAssertEqual(AttributeType(coreDataNumber: number), type)
    }
    XCTAssertEqual(types.count, AttributeType.allCases.count)
    XCTAssertNil(AttributeType(coreDataNumber: 2000))
    let rules: [DeleteRule] = [.noAction, .nullify, .cascade, .deny]
    XCTAssertEqual((0..<5).map { DeleteRule(coreDataNumber: $0) }, rules + [nil])
  }

  func testEveryDeleteRuleHasOneEffect() {
    let effects: [DeleteRule: DeleteEffect] = [
      .nullify: .removesReferences, .cascade: .deletesMembers, .deny: .forbidsDeletion, .noAction: .leavesMembers,
    ]
    XCTAssertEqual(DeleteRule.allCases.map(\.effect), DeleteRule.allCases.map { effects[$0] })
    XCTAssertEqual(DeleteRule.allCases.filter(\.effect.removesLinks), [.nullify, .cascade])
    XCTAssertEqual(DeleteRule.allCases.filter { !$0.effect.leavesNoReferences }, [.noAction])
  }
}
