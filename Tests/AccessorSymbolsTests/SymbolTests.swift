import AccessorSymbols
import Foundation
import XCTest

/// The symbols of managed declarations equal the compiler's.
final class SymbolTests: XCTestCase {
  private static let head = "import Basis\nimport CoreData\nimport Foundation\nfunc keep(_ any: Any) {}\n"
  private static let flags = ["-enable-bare-slash-regex", "-D", "UNKNOWN_FLAG"]

  /// Compares the symbols of a module's declarations with those that the compiler references.
  private func compare(_ module: ScannedModule, _ files: [URL], in modules: CompiledModules, line: UInt = #line) throws -> ManagedAccessors
  {
    _ = try modules.missingSymbols(of: "CoreData", CompiledModules.files(of: "CoreData"))
    _ = try modules.missingSymbols(of: "Basis", CompiledModules.files(of: "Basis"))
    let made = ManagedAccessors(of: module, dependencies: [try CompiledModules.scanned("Basis")])
    XCTAssertEqual(made.issues.map(\.description), [], line: line)
    let uses = made.accessors.enumerated().filter(\.element.isSeenEverywhere).map { $0.element.use($0.offset) }
    let use = try modules.write(Self.head + uses.joined(), as: "Uses.swift")
    let missing = try modules.missingSymbols(of: module.name, files + [use], flags: Self.flags)
    let built = made.accessors.filter { !$0.conditions.contains("!(UNKNOWN_FLAG)") }
    let symbols = Set(built.flatMap(\.symbols))
    XCTAssertEqual(symbols.subtracting(missing).sorted(), [], "symbols that the compiler does not look for", line: line)
    // The other undefined symbols belong to Foundation, or to the modules' own functions with bodies.
    let managed = missing.filter {
      $0.contains("\(module.name.utf8.count)\(module.name)") && ["vg", "vs", "F"].contains(where: $0.hasSuffix)
        && !$0.hasPrefix("$s10Foundation")
    }
    XCTAssertEqual(managed.subtracting(symbols).sorted(), [], "symbols that are not found", line: line)
    return made
  }

  func testSymbolsOfModuleDeclarationsMatchTheCompiler() throws {
    let made = try CompiledModules.with { modules in
      try compare(CompiledModules.scanned("Library"), CompiledModules.files(of: "Library"), in: modules)
    }
    XCTAssertGreaterThan(made.accessors.count, 110)
  }

  func testSymbolsOfWellKnownTypesMatchTheCompiler() throws {
    let types = KnownTypeNames.all
    XCTAssertGreaterThan(types.count, 100)
    let properties = types.enumerated().map { "  @NSManaged public var p\($0.offset): \($0.element)?\n" }
    try CompiledModules.with { modules in
      let text =
        Self.head.replacingOccurrences(of: "func keep(_ any: Any) {}\n", with: "")
        + "open class Known: NSManagedObject {\n\(properties.joined())}\n"
      let file = try modules.write(text, as: "Known.swift")
      let module = ScannedModule(name: "Types", sources: [ScannedSource(text, file: file.path)])
      XCTAssertEqual(try compare(module, [file], in: modules).accessors.count, types.count)
    }
  }

  /// Names with repeated words, in repeated types.
  func testSymbolsOfArbitraryNamesAndTypesMatchTheCompiler() throws {
    for seed in 1...3 as ClosedRange<UInt64> {
      var random = RandomDeclarations(seed: seed)
      let text = random.source(classes: 12, properties: 20)
      try CompiledModules.with { modules in
        let file = try modules.write(text, as: "Random\(seed).swift")
        let module = ScannedModule(name: "ItemOfBook", sources: [ScannedSource(text, file: file.path)])
        XCTAssertEqual(try compare(module, [file], in: modules).accessors.count, 240, "seed \(seed)")
      }
    }
  }
}

/// Type names that are known without their sources, in the form that an application would write.
enum KnownTypeNames {
  static let all: [String] = """
    String Substring Character Bool Int Int8 Int16 Int32 Int64 UInt UInt8 UInt16 UInt32 UInt64 Double Float AnyHashable Duration Error
    Data Date UUID URL Decimal Calendar Locale TimeZone DateComponents DateInterval IndexPath URLComponents URLQueryItem AttributedString
    ComparisonResult SortOrder LocalizedError FileManager JSONDecoder JSONEncoder NotificationCenter ProcessInfo CGFloat CGPoint CGRect
    CGSize AffineTransform CharacterSet IndexSet Notification PersonNameComponents QualityOfService NSCoding NSSecureCoding NSCopying
    NSMutableCopying NSObjectProtocol NSObject NSArray NSMutableArray NSSet NSMutableSet NSCountedSet NSOrderedSet NSMutableOrderedSet
    NSDictionary NSMutableDictionary NSString NSMutableString NSAttributedString NSMutableAttributedString NSNumber NSDecimalNumber
    NSValue NSDate NSData NSMutableData NSUUID NSURL NSError NSNull NSLocale NSTimeZone NSCalendar NSDateComponents NSDateInterval
    NSIndexSet NSMutableIndexSet NSIndexPath NSCharacterSet NSPersonNameComponents NSNotification NSRegularExpression NSURLComponents
    NSURLQueryItem Bundle Dimension Unit UnitAngle UnitArea UnitDuration UnitEnergy UnitLength UnitMass UnitSpeed UnitTemperature
    UnitVolume Progress Operation OperationQueue Thread Timer UserDefaults NSManagedObject NSManagedObjectID NSManagedObjectContext
    NSEntityDescription NSFetchRequestResult TimeInterval Float64 Float32 unichar NSPoint NSSize NSRect Any AnyObject ObjectIdentifier
    ContiguousBytes CustomStringConvertible Encodable Decodable Sendable NSMeasurement
    """.split(whereSeparator: \.isWhitespace).map { name in
      [
        "Error", "LocalizedError", "NSCoding", "NSSecureCoding", "NSCopying", "NSMutableCopying", "NSObjectProtocol",
        "NSFetchRequestResult",
        "ContiguousBytes", "CustomStringConvertible", "Encodable", "Decodable", "Sendable", "Any",
      ].contains(name) ? "(any \(name))" : String(name)
    }.map { $0 == "(any Any)" ? "Any" : $0 } + [
      "Set<Date>", "Range<Date>", "ClosedRange<Int>", "ContiguousArray<Int>", "ArraySlice<Date>",
      "Array<UUID>", "Dictionary<UUID, Date>", "Optional<Date>", "KeyValuePairs<String, Int>", "Swift.Int", "Foundation.URL",
    ]
}

/// Classes with properties of random names and types.
struct RandomDeclarations {
  private var state: UInt64
  private var types: [String] = ["String", "Int", "Date", "Bool", "Data", "NSSet", "Int64", "UUID"]

  init(seed: UInt64) { state = seed }

  /// SplitMix64: the same numbers on every platform.
  private mutating func next(_ bound: Int) -> Int {
    state &+= 0x9E37_79B9_7F4A_7C15
    var value = state
    value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
    value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
    return Int((value ^ (value >> 31)) % UInt64(bound))
  }

  private static let words = [
    "item", "of", "book", "Item", "Book", "Of", "URL", "url", "X", "y", "HTML2", "_", "name", "Name", "4", "date", "Date", "String", "Set",
    "Foundation", "Essentials", "ünder", "é", "Kind", "a1B", "__",
  ]

  private mutating func name(_ begin: String) -> String {
    (0..<(1 + next(5))).reduce(into: begin) { text, _ in text += Self.words[next(Self.words.count)] }
  }

  private mutating func type(depth: Int = 0) -> String {
    switch next(depth > 2 ? 3 : 8) {
    case 0...2: types[next(types.count)]
    case 3: type(depth: depth + 1) + "?"
    case 4: "[\(type(depth: depth + 1))]"
    case 5: "Set<\(types[next(8)])>"
    case 6: "[\(types[next(5)]): \(type(depth: depth + 1))]"
    default: "Array<\(type(depth: depth + 1))>"
    }
  }

  mutating func source(classes: Int, properties: Int) -> String {
    let names = (0..<classes).map { _ in name("C") }.enumerated().map { $0.element + "c\($0.offset)" }
    types += names + names.map { $0 + ".Kind" }
    var text = "import CoreData\nimport Foundation\n\n"
    for name in names {
      text += "open class \(name): NSManagedObject {\n  public enum Kind: Int, Hashable { case one }\n"
      for index in 0..<properties { text += "  @NSManaged public var \(self.name("p"))p\(index): \(type())\n" }
      text += "}\n"
    }
    return text
  }
}
