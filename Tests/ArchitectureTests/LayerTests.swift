import Foundation
import XCTest

/// The folders of each module are layers: none refers to a type of a layer above its own, except for the file of a façade type. Also checks the
/// names of types and files.
final class LayerTests: XCTestCase {
  private static let modules: [ModuleLayers] = {
    let modules = (try? Repository.folders(in: "Sources")) ?? []
    return modules.map { ModuleLayers(module: $0, sources: Repository.sources) }
  }()

  func testFoldersDoNotUseTypesOfHigherLayers() {
    for layers in Self.modules {
      for name in layers.upwardNames { XCTFail("\(name)") }
    }
  }

  func testFirstFileOfEachModuleDrawsItsLayers() {
    for layers in Self.modules where !layers.folders.isEmpty {
      let file = "Sources/\(layers.module)/\(layers.module).swift"
      guard let order = layers.order else {
        XCTFail("\(file) draws no layers: a line for each folder, from the bottom up, as in Sources/StoreKeys/StoreKeys.swift")
        continue
      }
      XCTAssertEqual(Set(order).count, order.count, "\(file) lists a layer twice")
      XCTAssertEqual(Set(order).subtracting([ModuleLayers.root]), layers.folders, "\(file) draws other folders than there are")
    }
  }

  func testFoldersDoNotDependOnEachOtherMutually() {
    for layers in Self.modules {
      XCTAssertEqual(layers.mutualPairs, 0, layers.module)
    }
  }

  func testUsesOfHigherLayersAreFound() {
    let drawing = SwiftText("// M: a module.\n//\n//   Low   below\n//   High  above\n//   (the root)\n")
    let low = SwiftText(
      """
      // "High" is a word here, and Above.Inner another.
      struct Below { let text = "Above" }
      func f(_ x: M.Above) -> Root { Above.Inner.make(.Above) }
      private struct Own {}
      """)
    let high = SwiftText(
      "struct Above { let below: Below; enum Inner {}; private enum Hidden {} }\nfileprivate struct Own {}\nlet own = Own()")
    let root = SwiftText("final class Root { let above: Above; class func g() {}; func h() { struct Above {} } }")
    let layers = ModuleLayers(
      module: "M",
      sources: [
        ("Sources/M/M.swift", drawing), ("Sources/M/Low/Below.swift", low), ("Sources/M/High/Above.swift", high),
        ("Sources/M/Root.swift", root), ("Sources/M/Low/StoreEngine.swift", SwiftText("final class StoreEngine { let above: Above }")),
      ])
    XCTAssertEqual(layers.order, ["Low", "High", ModuleLayers.root])
    XCTAssertEqual(layers.folders, ["Low", "High"])
    XCTAssertEqual(
      layers.upwardNames.map(\.description),
      [
        "Sources/M/Low/Below.swift:3 names Above: Low stands below High",
        "Sources/M/Low/Below.swift:3 names Root: Low stands below (the root)",
        "Sources/M/Low/Below.swift:3 names Above.Inner: Low stands below High",
      ])
    XCTAssertEqual(layers.mutualPairs, 1)
  }

  // MARK: Names

  func testTypeNamesAreUniqueAcrossModules() {
    var files: [String: [String]] = [:]
    for (file, text) in Repository.sources {
      for type in SwiftTokens(text).declaredTypes where !type.isNested && !type.isPrivate { files[type.name, default: []].append(file) }
    }
    for (name, files) in files where Set(files.map { $0.split(separator: "/")[1] }).count > 1 {
      XCTFail("\(name) is declared in \(files.joined(separator: " and "))")
    }
  }

  func testFilesAreNamedAfterTheirPublicType() {
    for (file, text) in Repository.sources {
      let types = SwiftTokens(text).declaredTypes.filter { !$0.isNested && !$0.isAlias }
      let visible = types.filter(\.isPublic)
      guard visible.count == 1, let type = visible.first,
        let name = file.split(separator: "/").last?.prefix(while: { $0 != "+" && $0 != "." })
      else { continue }
      // File names omit the underscore prefix of types for generated code.
      let typeName = type.name.drop { $0 == "_" }
      let isNamed = typeName.hasPrefix(name) || name.hasPrefix(typeName) || types.contains { $0.name == name }
      XCTAssertTrue(isNamed, "\(file) declares \(type.name), whose name it does not bear")
    }
  }
}
