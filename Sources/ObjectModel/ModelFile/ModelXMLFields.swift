/// An invalid value of an attribute in a model file.
struct XMLValueProblem: Error {
  let reason: String
  /// The value that is used instead, which the description then has; nil for an error. Core Data accepts files with such values.
  var substitute: String?

  /// Returns the problem of an unusable value with a substitute.
  static func unusable(_ reason: String, instead substitute: String) -> Self { Self(reason: reason, substitute: substitute) }
}

/// The conversion between an attribute of a model file's element and a description.
///
/// A spelling that differs from the canonical one is preserved with the description, and written as long as its meaning is unchanged.
struct ModelXMLField<Description: Sendable & Equatable>: Sendable {
  let name: String
  /// Returns the canonical text; nil to omit the attribute.
  let text: @Sendable (Description) -> String?
  /// Reads a text into the description. If it throws a problem with a substitute, the description has the substitute.
  let take: @Sendable (inout Description, String) throws(XMLValueProblem) -> Void
  /// Whether the text is meaningless for the description and is only preserved.
  var isIdle: @Sendable (Description) -> Bool = { _ in false }

  /// Returns a flag that is `YES` or omitted.
  static func flag(
    _ name: String, _ read: @escaping @Sendable (Description) -> Bool, _ write: @escaping @Sendable (inout Description, Bool) -> Void
  ) -> Self {
    Self(name: name) {
      read($0) ? "YES" : nil
    } take: { (description: inout Description, text) throws(XMLValueProblem) in
      try takeBoolean(text, name) { write(&description, $0) }
    }
  }

  /// Returns a flag that is `NO` or omitted.
  static func denial(
    _ name: String, _ read: @escaping @Sendable (Description) -> Bool, _ write: @escaping @Sendable (inout Description, Bool) -> Void
  ) -> Self {
    Self(name: name) {
      read($0) ? nil : "NO"
    } take: { (description: inout Description, text) throws(XMLValueProblem) in
      try takeBoolean(text, name) { write(&description, $0) }
    }
  }

  /// Returns a text that is omitted if nil.
  static func text(
    _ name: String, _ read: @escaping @Sendable (Description) -> String?, _ write: @escaping @Sendable (inout Description, String) -> Void
  ) -> Self {
    Self(name: name) {
      read($0)
    } take: { (description: inout Description, text) throws(XMLValueProblem) in
      write(&description, text)
    }
  }

  /// Returns a number that is omitted if nil.
  static func number(
    _ name: String, _ read: @escaping @Sendable (Description) -> Int?, _ write: @escaping @Sendable (inout Description, Int) -> Void
  ) -> Self {
    Self(name: name) {
      read($0).map(String.init)
    } take: { (description: inout Description, text) throws(XMLValueProblem) in
      try takeInteger(text, name) { write(&description, $0) }
    }
  }

  /// Returns an attribute without meaning, listed for its position in the canonical order. `standard` is written if no value was read.
  static func kept(_ name: String, standard: String? = nil) -> Self {
    Self(name: name) { _ in
      standard
    } take: { (_: inout Description, _) throws(XMLValueProblem) in
    }
  }

  /// Reads a boolean. Any other text is tolerated and means NO.
  static func takeBoolean(_ text: String, _ name: String, _ write: (Bool) -> Void) throws(XMLValueProblem) {
    let value = SlotText.boolean(text)
    write(value ?? false)
    if value == nil { throw .unusable("'\(name)' must be YES or NO", instead: "NO is used") }
  }

  /// Reads a whole number. For any other text, which is tolerated, the number at its beginning is used, or 0.
  static func takeInteger(_ text: String, _ name: String, _ write: (Int) -> Void) throws(XMLValueProblem) {
    if let number = Int(text) ?? Double(text).flatMap({ Int(exactly: $0) }) { return write(number) }
    let number = SlotText.leadingNumber(of: text).flatMap { Int(exactly: $0.rounded(.towardZero)) } ?? 0
    write(number)
    throw .unusable("'\(name)' must be a whole number", instead: "\(number) is used")
  }

  /// Returns whether a text has the meaning of the description.
  func represents(_ text: String, _ description: Description) -> Bool {
    if isIdle(description) { return true }
    var copy = description
    do { try take(&copy, text) } catch { if error.substitute == nil { return false } }
    return copy == description
  }
}

extension [PreservedXML.Element] {
  func named(_ name: String) -> [PreservedXML.Element] { filter { $0.name == name } }
}

// The attributes of each element of a model file, in the order in which they are written.

extension ModelXMLField where Description == ManagedObjectModel {
  static let all: [Self] = [
    .kept("type", standard: "com.apple.IDECoreDataModeler.DataModel"), .kept("documentVersion", standard: "1.0"),
    .kept("lastSavedToolsVersion"), .kept("systemVersion"), .kept("minimumToolsVersion", standard: "Automatic"),
    .kept("sourceLanguage", standard: "Swift"), .kept("usedWithCloudKit"), .kept("usedWithSwiftData"),
    .text("userDefinedModelVersionIdentifier") {
      // An empty attribute and a missing one are both preserved.
      $0.versionIdentifiers.isEmpty ? nil : $0.versionIdentifiers.sorted().joined(separator: ",")
    } _: {
      $0.versionIdentifiers = Set($1.split(separator: ",").map { trimmed($0) }.filter { !$0.isEmpty })
    },
  ]

  /// The attributes that this library always writes. If a file lacks some of them, another program wrote it, and they are not added.
  static let standardNames = ["type", "documentVersion", "minimumToolsVersion", "sourceLanguage"]

  private static func trimmed(_ text: Substring) -> String {
    var text = text
    while text.first?.isWhitespace == true { text.removeFirst() }
    while text.last?.isWhitespace == true { text.removeLast() }
    return String(text)
  }
}

extension ModelXMLField where Description == EntityDescription {
  static let all: [Self] = [
    .text("name", { $0.name.isEmpty ? nil : $0.name }, { $0.name = $1 }),
    .text("representedClassName", { $0.managedObjectClassName }, { $0.managedObjectClassName = $1 }),
    .text("parentEntity", { $0.superentityName }, { $0.superentityName = $1 }),
    .flag("isAbstract", { $0.isAbstract }, { $0.isAbstract = $1 }),
    .text("elementID", { $0.renamingIdentifier }, { $0.renamingIdentifier = $1 }),
    .text("versionHashModifier", { $0.versionHashModifier }, { $0.versionHashModifier = $1 }),
    .kept("syncable"),
    Self(name: "codeGenerationType") {
      $0.codeGeneration == .manual ? nil : $0.codeGeneration.rawValue
    } take: { (entity: inout EntityDescription, text) throws(XMLValueProblem) in
      entity.codeGeneration = CodeGenerationType(rawValue: text) ?? .manual
      // Editors omit the attribute; other programs write one of these words.
      if CodeGenerationType(rawValue: text) == nil, !["none", "manual"].contains(text.lowercased()) {
        throw .unusable("'codeGenerationType' must be 'class', 'category' or left out", instead: "no code is generated")
      }
    },
    .text(
      "coreSpotlightDisplayNameExpression", { $0.coreSpotlightDisplayNameExpression }, { $0.coreSpotlightDisplayNameExpression = $1 }),
  ]
}

extension ModelXMLField where Description == AttributeDescription {
  static let all: [Self] = [
    .text("name", { $0.name.isEmpty ? nil : $0.name }, { $0.name = $1 }),
    .flag("optional", { $0.isOptional }, { $0.isOptional = $1 }),
    .flag("transient", { $0.isTransient }, { $0.isTransient = $1 }),
    Self(name: "attributeType") {
      $0.type == .undefined ? nil : $0.type.rawValue
    } take: { (attribute: inout AttributeDescription, text) throws(XMLValueProblem) in
      guard let type = AttributeType(rawValue: text) else {
        let close = SimilarName.of(text, among: AttributeType.allCases.map(\.rawValue))
        throw XMLValueProblem(
          reason: "'attributeType' names no attribute type; " + (close.map { "did you mean '\($0)'?" } ?? "the types are \(typeNames)"))
      }
      attribute.type = type
    },
    // The order of Apple's editor, so that files that it saved stay unchanged.
    bound("minValueString", length: \.minimumLength, value: \.minimum), bound("maxValueString", length: \.maximumLength, value: \.maximum),
    value(
      "minDateTimeInterval", isBound: true, { $0.type == .date }, { $0.validation.minimum },
      { $0.validation.minimum = $1.isNull ? nil : $1 }),
    value(
      "maxDateTimeInterval", isBound: true, { $0.type == .date }, { $0.validation.maximum },
      { $0.validation.maximum = $1.isNull ? nil : $1 }),
    value("defaultDateTimeInterval", { $0.type == .date }, { $0.defaultValue }, { $0.defaultValue = $1 }),
    value("defaultValueString", { $0.type != .date }, { $0.defaultValue }, { $0.defaultValue = $1 }),
    ofType("regularExpressionString", .string, { $0.validation.pattern }, { $0.validation.pattern = $1 }),
    ofType("composite", .composite, { $0.compositeName }, { $0.compositeName = $1 }),
    .text("valueTransformerName", { $0.valueTransformerName }, { $0.valueTransformerName = $1 }),
    .text("customClassName", { $0.valueClassName }, { $0.valueClassName = $1 }),
    Self(name: "derived") {
      $0.derivationExpression == nil ? nil : "YES"
    } take: { (attribute: inout AttributeDescription, text) throws(XMLValueProblem) in
      try takeBoolean(text, "derived") { if !$0 { attribute.derivationExpression = nil } }
    },
    Self(name: "derivationExpression") {
      $0.derivationExpression
    } take: { (attribute: inout AttributeDescription, text) throws(XMLValueProblem) in
      attribute.derivationExpression = text.isEmpty ? nil : text
      if text.isEmpty { throw .unusable("'derivationExpression' is empty", instead: "the attribute is not derived") }
    } isIdle: {
      $0.derivationExpression == nil
    },
    Self(name: "derivationFilter") {
      $0.derivationFilter
    } take: { (attribute: inout AttributeDescription, text) throws(XMLValueProblem) in
      attribute.derivationFilter = text
    } isIdle: {
      $0.derivationExpression == nil && $0.derivationFilter == nil
    },
    .flag("allowsExternalBinaryDataStorage", { $0.allowsExternalBinaryDataStorage }, { $0.allowsExternalBinaryDataStorage = $1 }),
    .flag("allowsCloudEncryption", { $0.allowsCloudEncryption }, { $0.allowsCloudEncryption = $1 }),
    .flag("preserveAfterDeletion", { $0.preservesValueInHistoryOnDeletion }, { $0.preservesValueInHistoryOnDeletion = $1 }),
    .flag("spotlightIndexingEnabled", { $0.isIndexedBySpotlight }, { $0.isIndexedBySpotlight = $1 }),
    .flag("indexed", { $0.isIndexed }, { $0.isIndexed = $1 }), .kept("storedInTruthFile"),
    Self(name: "usesScalarValueType") {
      // Omitted means NO; files may also contain NO.
      $0.usesScalarValueType && $0.type.traits.coreData.hasScalar ? "YES" : nil
    } take: { (attribute: inout AttributeDescription, text) throws(XMLValueProblem) in
      try takeBoolean(text, "usesScalarValueType") { attribute.usesScalarValueType = $0 }
    },
    .text("versionHashModifier", { $0.versionHashModifier }, { $0.versionHashModifier = $1 }),
    .text("elementID", { $0.renamingIdentifier }, { $0.renamingIdentifier = $1 }),
    .kept("syncable"),
  ]

  private static var typeNames: String { AttributeType.allCases.map { "'\($0.rawValue)'" }.joined(separator: ", ") }

  /// Returns a value in the text form of the attribute's type, for types accepted by `applies`; for others it is only preserved.
  @_optimize(none) private static func value(
    _ name: String, isBound: Bool = false, _ applies: @escaping @Sendable (AttributeDescription) -> Bool,
    _ read: @escaping @Sendable (AttributeDescription) -> Slot?, _ write: @escaping @Sendable (inout AttributeDescription, Slot) -> Void
  ) -> Self {
    Self(name: name) {
      guard applies($0), let slot = read($0) else { return nil }
      return SlotText.text(slot, type: $0.type)
    } take: { (attribute: inout AttributeDescription, text) throws(XMLValueProblem) in
      guard applies(attribute), attribute.type != .undefined, attribute.type != .composite else { return }
      let slot = SlotText.slot(text, type: attribute.type)
      if let slot, attribute.type.modelProblem(of: slot) == nil { return write(&attribute, slot) }
      let substitute = isBound ? .null : SlotText.substitute(for: text, type: attribute.type)
      write(&attribute, substitute)
      let used = SlotText.text(substitute, type: attribute.type).map { "\($0) is used" } ?? "\(isBound ? "no bound" : "no value") is used"
      throw .unusable("'\(name)' is not a value of the type '\(attribute.type.rawValue)'", instead: used)
    }
  }

  /// Returns a text for attributes of one type. For others, where it may be a remainder, it is only preserved.
  @_optimize(none) private static func ofType(
    _ name: String, _ type: AttributeType, _ read: @escaping @Sendable (AttributeDescription) -> String?,
    _ write: @escaping @Sendable (inout AttributeDescription, String?) -> Void
  ) -> Self {
    Self(name: name) {
      read($0)
    } take: { (attribute: inout AttributeDescription, text) throws(XMLValueProblem) in
      write(&attribute, attribute.type == type ? text : nil)
      guard attribute.type != type else { return }
      throw .unusable(
        "'\(name)' is for the type '\(type.rawValue)', and the attribute is of the type '\(attribute.type.rawValue)'",
        instead: "it is not used")
    }
  }

  /// Returns a bound: a length for strings, a number for numeric types.
  @_optimize(none) private static func bound(
    _ name: String, length: any WritableKeyPath<AttributeValidation, Int?> & Sendable,
    value: any WritableKeyPath<AttributeValidation, Slot?> & Sendable
  ) -> Self {
    Self(name: name) {
      if $0.type == .string { return $0.validation[keyPath: length].map(String.init) }
      guard $0.type.isNumeric, let slot = $0.validation[keyPath: value] else { return nil }
      return SlotText.text(slot, type: $0.type)
    } take: { (attribute: inout AttributeDescription, text) throws(XMLValueProblem) in
      if attribute.type == .string {
        attribute.validation[keyPath: length] = Int(text) ?? Double(text).flatMap { Int(exactly: $0) }
        if attribute.validation[keyPath: length] == nil {
          throw .unusable("'\(name)' must be a whole number, the number of characters", instead: "no bound is used")
        }
      } else if attribute.type.isNumeric {
        let slot = SlotText.slot(text, type: attribute.type).flatMap { slot in
          attribute.type.modelProblem(of: slot) == nil ? slot : nil
        }
        attribute.validation[keyPath: value] = slot
        guard slot == nil else { return }
        throw .unusable("'\(name)' is not a value of the type '\(attribute.type.rawValue)'", instead: "no bound is used")
      }
    }
  }
}

extension ModelXMLField where Description == CompositeDescription {
  static let all: [Self] = [.text("name", { $0.name.isEmpty ? nil : $0.name }, { $0.name = $1 })]
}

extension ModelXMLField where Description == RelationshipDescription {
  static let all: [Self] = [
    .text("name", { $0.name.isEmpty ? nil : $0.name }, { $0.name = $1 }),
    .flag("optional", { $0.isOptional }, { $0.isOptional = $1 }),
    .flag("transient", { $0.isTransient }, { $0.isTransient = $1 }),
    .flag("toMany", { $0.isToMany }) {
      guard $0.isToMany != $1 else { return }
      $0.isToMany = $1
      $0.maxCount = $1 ? 0 : 1
    },
    Self(name: "minCount") {
      $0.minCount == 0 ? nil : String($0.minCount)
    } take: { (relationship: inout RelationshipDescription, text) throws(XMLValueProblem) in
      try takeInteger(text, "minCount") { relationship.minCount = $0 }
      guard !relationship.isToMany, relationship.minCount > 1 else { return }
      relationship.minCount = 1
      throw .unusable("'minCount' of a to-one relationship is 0 or 1", instead: "1 is used")
    },
    Self(name: "maxCount") {
      $0.isToMany && $0.maxCount == 0 ? nil : String($0.maxCount)
    } take: { (relationship: inout RelationshipDescription, text) throws(XMLValueProblem) in
      try takeInteger(text, "maxCount") { relationship.maxCount = $0 }
      guard !relationship.isToMany, relationship.maxCount != 1 else { return }
      relationship.maxCount = 1
      throw .unusable("'maxCount' of a to-one relationship is 1", instead: "1 is used")
    },
    Self(name: "deletionRule") {
      $0.deleteRule.rawValue
    } take: { (relationship: inout RelationshipDescription, text) throws(XMLValueProblem) in
      guard let rule = DeleteRule(rawValue: text) else {
        let names = DeleteRule.allCases.map(\.rawValue)
        let close = SimilarName.of(text, among: names).map { "; did you mean '\($0)'?" } ?? ""
        throw XMLValueProblem(
          reason: "'deletionRule' must be \(names.dropLast().joined(separator: ", ")) or \(names.last ?? "")\(close)")
      }
      relationship.deleteRule = rule
    },
    .flag("ordered", { $0.isOrdered }, { $0.isOrdered = $1 }),
    .text("destinationEntity", { $0.destinationEntityName.isEmpty ? nil : $0.destinationEntityName }, { $0.destinationEntityName = $1 }),
    .text("inverseName", { $0.inverseName }, { $0.inverseName = $1 }),
    .text("inverseEntity", { $0.inverseName == nil ? nil : $0.destinationEntityName }, { _, _ in }),
    .text("versionHashModifier", { $0.versionHashModifier }, { $0.versionHashModifier = $1 }),
    .text("elementID", { $0.renamingIdentifier }, { $0.renamingIdentifier = $1 }),
    .kept("syncable"),
  ]
}

extension ModelXMLField where Description == FetchedPropertyDescription {
  static let all: [Self] = [
    .text("name", { $0.name.isEmpty ? nil : $0.name }, { $0.name = $1 }),
    .flag("optional", { $0.isOptional }, { $0.isOptional = $1 }),
    .kept("syncable"),
  ]
}

extension ModelXMLField where Description == FetchIndexDescription {
  static let all: [Self] = [
    .text("name", { $0.name.isEmpty ? nil : $0.name }, { $0.name = $1 }),
    .text("partialIndexPredicate", { $0.partialIndexPredicate }, { $0.partialIndexPredicate = $1 }),
  ]
}

extension ModelXMLField where Description == FetchIndexElement {
  static let all: [Self] = [
    .text("property", { $0.propertyName }, { $0.propertyName = $1 }),
    .text("expression", { $0.expression }, { $0.expression = $1 }),
    .kept("expressionType"),
    Self(name: "type") {
      $0.kind.rawValue
    } take: { (element: inout FetchIndexElement, text) throws(XMLValueProblem) in
      element.kind = FetchIndexElement.Kind(rawValue: text) ?? .binary
      if FetchIndexElement.Kind(rawValue: text) == nil {
        throw .unusable("'type' must be Binary, RTree or FullText", instead: "Binary is used")
      }
    },
    Self(name: "order") {
      $0.isAscending ? "ascending" : "descending"
    } take: { (element: inout FetchIndexElement, text) throws(XMLValueProblem) in
      element.isAscending = text != "descending"
      guard text == "ascending" || text == "descending" else {
        throw .unusable("'order' must be ascending or descending", instead: "ascending is used")
      }
    },
    Self(name: "collation") {
      $0.collation == .binary ? nil : $0.collation.rawValue
    } take: { (element: inout FetchIndexElement, text) throws(XMLValueProblem) in
      element.collation = FetchIndexElement.Collation(rawValue: text) ?? .binary
      guard FetchIndexElement.Collation(rawValue: text) == nil else { return }
      let names = FetchIndexElement.Collation.allCases.map(\.rawValue).joined(separator: ", ")
      throw .unusable("'collation' must be one of \(names)", instead: "binary is used")
    },
  ]
}

extension FetchResultType {
  /// Core Data's numbers, which model files contain.
  fileprivate static let fileNumbers: [(type: Self, number: Int)] = [(.objects, 0), (.objectIDs, 1), (.dictionaries, 2), (.count, 4)]

  fileprivate var fileNumber: Int? { Self.fileNumbers.first { $0.type == self }?.number }
}

extension ModelXMLField where Description == FetchRequestTemplate {
  static let all: [Self] = [
    .text("name", { $0.name.isEmpty ? nil : $0.name }, { $0.name = $1 }),
    .text("entity", { $0.entityName.isEmpty ? nil : $0.entityName }, { $0.entityName = $1 }),
    .text("predicateString", { $0.predicateFormat }, { $0.predicateFormat = $1 }),
    .number("fetchLimit", { $0.fetchLimit == 0 ? nil : $0.fetchLimit }, { $0.fetchLimit = $1 }),
    .number("fetchBatchSize", { $0.fetchBatchSize == 0 ? nil : $0.fetchBatchSize }, { $0.fetchBatchSize = $1 }),
    Self(name: "resultType") {
      $0.resultType == .objects ? nil : $0.resultType.fileNumber.map { "\($0)" }
    } take: { (template: inout FetchRequestTemplate, text) throws(XMLValueProblem) in
      let type = FetchResultType.fileNumbers.first { String($0.number) == text }?.type
      template.resultType = type ?? .objects
      if type == nil {
        throw .unusable("'resultType' must be 0 (objects), 1 (IDs), 2 (dictionaries) or 4 (count)", instead: "0 is used")
      }
    },
    .denial("includeSubentities", { $0.includesSubentities }, { $0.includesSubentities = $1 }),
    .denial("includePropertyValues", { $0.includesPropertyValues }, { $0.includesPropertyValues = $1 }),
    .denial("includePendingChanges", { $0.includesPendingChanges }, { $0.includesPendingChanges = $1 }),
    .denial("returnObjectsAsFaults", { $0.returnsObjectsAsFaults }, { $0.returnsObjectsAsFaults = $1 }),
    .flag("returnDistinctResults", { $0.returnsDistinctResults }, { $0.returnsDistinctResults = $1 }),
  ]
}

extension ModelXMLField where Description == ModelConfiguration {
  static let all: [Self] = [
    .text("name", { $0.name.isEmpty ? nil : $0.name }, { $0.name = $1 }),
    .flag("usedWithCloudKit", { $0.usedWithCloudKit }, { $0.usedWithCloudKit = $1 }),
  ]
}
