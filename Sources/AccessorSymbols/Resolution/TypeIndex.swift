/// The types in the sources of a module and its dependencies, by name.
struct TypeIndex: Sendable {
  private var types: [String: [String: [IndexedType]]] = [:]
  let modules: Set<String>

  init(_ modules: [ScannedModule]) {
    self.modules = Set(modules.map(\.name))
    let conditions = BuildConditions(modules: self.modules)
    var extended: [(ScannedModule, ScannedSource, DeclaredType)] = []
    for module in modules {
      for source in module.sources {
        for type in source.types where conditions.mayHold(type.conditions) {
          // Types nested in an extension are added after the extended type.
          if type.context.isExtension || !add(type, of: source, in: module, to: nil) { extended.append((module, source, type)) }
        }
      }
    }
    // An extended type can itself be declared in another extension.
    var waiting = extended
    while !waiting.isEmpty {
      let before = waiting.count
      waiting = waiting.filter { module, source, type in
        guard let owner = owner(of: type.context, file: source.file, module: module.name) else { return true }
        return !add(type, of: source, in: module, to: owner)
      }
      if waiting.count == before { break }
    }
  }

  /// Returns the type that contains a declaration.
  func owner(of context: DeclarationContext, file: String, module: String) -> IndexedOwner? {
    guard let first = context.path.first else { return nil }
    for home in [module] + modules.subtracting([module]).sorted() {
      if let type = named(context.path.joined(separator: "."), of: home, from: file, of: module).first { return .indexed(type) }
      if home == first, context.path.count > 1,
        let type = named(context.path.dropFirst().joined(separator: "."), of: home, from: file, of: module).first
      {
        return .indexed(type)
      }
    }
    let known = context.path.count == 2 && first.hasPrefix("Foundation") ? context.path[1] : context.path.count == 1 ? first : nil
    if let known, case .nominal(let nominal, parameters: 0) = KnownTypes.meaning(of: known) { return .known(nominal) }
    return nil
  }

  /// Returns the types with a path in a module that a file can refer to.
  func named(_ path: String, of home: String, from file: String, of module: String) -> [IndexedType] {
    (types[home]?[path] ?? []).filter { $0.isVisible(from: file, of: module) }
  }

  /// Returns the types that a module declares, sorted by path.
  func declared(in module: String) -> [IndexedType] {
    (types[module] ?? [:]).sorted { $0.key < $1.key }.flatMap(\.value).filter { $0.module == module }
  }

  private mutating func add(_ type: DeclaredType, of source: ScannedSource, in module: ScannedModule, to owner: IndexedOwner?) -> Bool {
    var owner = owner
    if owner == nil, !type.context.path.isEmpty {
      owner = self.owner(of: type.context, file: source.file, module: module.name)
      guard owner != nil else { return false }
    }
    let kind: NominalKind = if case .nominal(let kind) = type.kind { kind } else { .structure }
    let isInPrivate = owner?.isOfFile ?? false
    var component = MangledNominal.Component(type.name, kind)
    if type.access.isOfFile, !isInPrivate { component.discriminator = ScannedModule.discriminator(ofFile: source.file, in: module.name) }
    if let owner, owner.module != module.name { component.extensionModule = module.name }
    let nominal =
      owner.map { MangledNominal(module: $0.nominal.module, $0.nominal.components + [component]) }
      ?? MangledNominal(module: module.name, [component])
    types[nominal.module, default: [:]][nominal.path, default: []].append(
      IndexedType(
        nominal: nominal, kind: type.kind, inherited: type.inherited, access: type.access,
        isOfFile: type.access.isOfFile || isInPrivate, isGeneric: type.isGeneric || type.context.isGeneric, module: module.name,
        file: source.file, line: type.line, conditions: type.conditions))
    return true
  }
}

/// The type that contains a declaration: a scanned one or a known one.
enum IndexedOwner {
  case indexed(IndexedType)
  case known(MangledNominal)

  var nominal: MangledNominal {
    switch self {
    case .indexed(let type): type.nominal
    case .known(let nominal): nominal
    }
  }
  var module: String { nominal.module }
  var isOfFile: Bool { if case .indexed(let type) = self { type.isOfFile } else { false } }
}

/// A type that scanned sources declare.
struct IndexedType: Sendable {
  /// The type; for a type alias, a nominal type of its name.
  var nominal: MangledNominal
  var kind: DeclaredType.Kind
  var inherited: [TypeSyntax]
  var access: DeclaredAccess
  /// Whether the type or an enclosing type is private to its file.
  var isOfFile: Bool
  var isGeneric: Bool
  /// The module that declares the type.
  var module: String
  var file: String
  var line: Int
  var conditions: [String]

  /// Returns whether a file of a module can refer to the type.
  func isVisible(from file: String, of module: String) -> Bool {
    if isOfFile { return self.file == file }
    // Modules of the same package see `package` declarations; if another package's sources use them, they do not compile anyway.
    return self.module == module || access >= .package
  }
}

/// The types of Swift, Foundation, and CoreData that `@NSManaged` declarations can have. The sources of these modules are not scanned.
enum KnownTypes {
  /// The meaning of a type name.
  enum Meaning: Sendable {
    case nominal(MangledNominal, parameters: Int)
    case type(MangledType)
  }

  /// Returns the meaning of a name unless another declaration has that name.
  static func meaning(of name: String) -> Meaning? { meanings[name] }

  /// All nominal types, for a test that compares them with the compiler's.
  static var nominals: [MangledNominal] {
    meanings.values.compactMap { if case .nominal(let nominal, parameters: 0) = $0 { nominal } else { nil } }.sorted { $0.path < $1.path }
  }

  /// Returns whether a module exports the module of a type. Foundation consists of several modules in symbols.
  static func isShown(_ nominal: MangledNominal, by module: String) -> Bool {
    nominal.module == module || module == "Foundation" && nominal.module.hasPrefix("Foundation")
  }

  private static let meanings: [String: Meaning] = {
    var all: [String: Meaning] = [:]
    func add(_ module: String, _ kind: NominalKind, parameters: Int = 0, _ names: String) {
      for name in names.split(separator: " ").map(String.init) {
        all[name] = .nominal(MangledNominal(module, name, kind), parameters: parameters)
      }
    }
    for (module, kind, names) in plain { add(module, kind, names) }
    add("Swift", .structure, parameters: 1, "Array Set Range ClosedRange ContiguousArray ArraySlice")
    add("Swift", .structure, parameters: 2, "Dictionary KeyValuePairs")
    add("Swift", .enumeration, parameters: 1, "Optional")
    all["Any"] = .type(.anything)
    all["AnyObject"] = .type(.anyObject)
    all["Void"] = .type(.nothing)
    for (alias, name) in aliases { all[alias] = all[name] }
    return all
  }()

  private static let aliases = [
    "TimeInterval": "Double", "Float64": "Double", "Float32": "Float", "unichar": "UInt16", "NSPoint": "CGPoint", "NSSize": "CGSize",
    "NSRect": "CGRect",
  ]

  private static let plain: [(module: String, kind: NominalKind, names: String)] = [
    (
      "Swift", .structure,
      """
      String Substring Character Bool Int Int8 Int16 Int32 Int64 UInt UInt8 UInt16 UInt32 UInt64 Double Float AnyHashable ObjectIdentifier \
      Duration
      """
    ),
    (
      "Swift", .protocolType,
      "Encodable Decodable Hashable Equatable Comparable Error CustomStringConvertible Sendable Identifiable CaseIterable"
    ),
    (
      "FoundationEssentials", .structure,
      "Data Date UUID URL Decimal Calendar Locale TimeZone DateComponents DateInterval IndexPath URLComponents URLQueryItem AttributedString"
    ),
    ("FoundationEssentials", .enumeration, "ComparisonResult SortOrder"),
    ("FoundationEssentials", .protocolType, "LocalizedError ContiguousBytes DataProtocol"),
    ("FoundationEssentials", .classType, "FileManager JSONDecoder JSONEncoder NotificationCenter ProcessInfo"),
    ("Foundation", .structure, "CGFloat CGPoint CGRect CGSize AffineTransform CharacterSet IndexSet Notification PersonNameComponents"),
    ("Foundation", .enumeration, "QualityOfService"),
    ("Foundation", .protocolType, "NSCoding NSSecureCoding NSCopying NSMutableCopying NSObjectProtocol"),
    (
      "Foundation", .classType,
      """
      NSObject NSArray NSMutableArray NSSet NSMutableSet NSCountedSet NSOrderedSet NSMutableOrderedSet NSDictionary NSMutableDictionary \
      NSString NSMutableString NSAttributedString NSMutableAttributedString NSNumber NSDecimalNumber NSValue NSDate NSData NSMutableData \
      NSUUID NSURL NSError NSNull NSLocale NSTimeZone NSCalendar NSDateComponents NSDateInterval NSIndexSet NSMutableIndexSet NSIndexPath \
      NSCharacterSet NSPersonNameComponents NSMeasurement NSNotification NSRegularExpression NSURLComponents NSURLQueryItem \
      Bundle Dimension Unit UnitAngle UnitArea UnitDuration UnitEnergy UnitLength UnitMass UnitSpeed UnitTemperature UnitVolume \
      Progress Operation OperationQueue Thread Timer UserDefaults
      """
    ),
    ("CoreData", .classType, "NSManagedObject NSManagedObjectID NSManagedObjectContext NSEntityDescription"),
    ("CoreData", .protocolType, "NSFetchRequestResult"),
  ]
}
