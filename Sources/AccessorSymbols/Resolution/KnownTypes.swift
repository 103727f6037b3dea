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
