import XCTest

/// The two public interfaces: `import CipherData` for applications, and `import CipherDataEngine` for authors of stores.
final class UmbrellaModuleTests: XCTestCase {
  /// The maximum number of public declarations in the application's interface, without cases and conformances. A change that increases it
  /// states how applications use the addition. Declarations for other modules of the library are `package`.
  private static let limit = 2050

  func testApplicationImportExportsTheModulesItNeeds() throws {
    let count = try UmbrellaModule(UmbrellaModule.application).declarations().count
    XCTAssertLessThanOrEqual(count, Self.limit, "import CipherData shows \(count) public declarations")
    XCTAssertGreaterThan(count, Self.limit - 100, "import CipherData shows \(count) public declarations: lower the limit")
  }

  func testStoreOnlyDeclarationsMatchTheReviewedList() throws {
    try PinnedLists.hiddenTypes.check(
      hint:
        "A new public type is either named in \(UmbrellaModule.application), or meant for those who write a store: then run Scripts/api-baseline."
    )
  }

  func testExportsNameSingleExistingDeclarations() throws {
    for file in [UmbrellaModule.application, "Sources/CipherDataEngine/CipherDataEngine.swift"] {
      let umbrella = try UmbrellaModule(file)
      XCTAssertEqual(Set(umbrella.exports).count, umbrella.exports.count, "\(file) exports something twice")
      XCTAssertTrue(umbrella.wholeModules.isDisjoint(with: umbrella.types.keys), "\(file) exports a module both whole and by its types")
      for (module, types) in umbrella.types {
        XCTAssertEqual(types.subtracting(UmbrellaModule.topLevelNames(of: module)), [], "\(file) exports what \(module) does not have")
      }
    }
  }

  func testModulesExportedByTypeDeclareNoOperators() throws {
    // Exporting a type does not export its operators. Those of Equatable are found through the protocol.
    for module in try UmbrellaModule(UmbrellaModule.application).types.keys {
      for line in UmbrellaModule.publicDeclarations(of: module) where line.contains("func ") && !line.contains("func ==") {
        let name = line.components(separatedBy: "func ")[1].prefix { $0 != "(" && $0 != "<" }
        XCTAssertTrue(name.contains(where: \.isLetter), "\(module) declares an operator, which an application would not see: \(line)")
      }
    }
  }
}
