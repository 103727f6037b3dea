// The two faces: what an application sees by `import CipherData`, and what those see who write a store by `import CipherDataEngine`.
import XCTest

final class FaceTests: XCTestCase {
  /// How many public declarations the one import of an application may show: 2,526 before there were two faces. Whoever needs more says in the change what an
  /// application does with them; what a module of ours alone needs is `package`.
  private static let limit = 2280

  func testAnApplicationSeesWhatItUses() throws {
    let count = try Face(Face.application).declarations().count
    XCTAssertLessThanOrEqual(count, Self.limit, "import CipherData shows \(count) public declarations")
    XCTAssertGreaterThan(count, Self.limit - 100, "import CipherData shows \(count) public declarations: lower the limit")
  }

  func testWhatOnlyStoresNeedIsTheReviewedList() throws {
    try PinnedLists.hiddenTypes.check(
      hint: "A new public type is either named in \(Face.application), or meant for those who write a store: then run Scripts/api-baseline."
    )
  }

  func testEveryExportIsOfOneThingAndIsThere() throws {
    for file in [Face.application, "Sources/CipherDataEngine/CipherDataEngine.swift"] {
      let face = try Face(file)
      XCTAssertEqual(Set(face.exports).count, face.exports.count, "\(file) exports something twice")
      XCTAssertTrue(face.wholeModules.isDisjoint(with: face.types.keys), "\(file) exports a module both whole and by its types")
      for (module, types) in face.types {
        XCTAssertEqual(types.subtracting(Face.topLevelNames(of: module)), [], "\(file) exports what \(module) does not have")
      }
    }
  }

  func testModulesExportedByTypeDeclareNoOperators() throws {
    // An operator is found by its own name, which an export of its type does not let through; those of Equatable are found by the protocol.
    for module in try Face(Face.application).types.keys {
      for line in Face.publicDeclarations(of: module) where line.contains("func ") && !line.contains("func ==") {
        let name = line.components(separatedBy: "func ")[1].prefix { $0 != "(" && $0 != "<" }
        XCTAssertTrue(name.contains(where: \.isLetter), "\(module) declares an operator, which an application would not see: \(line)")
      }
    }
  }
}
