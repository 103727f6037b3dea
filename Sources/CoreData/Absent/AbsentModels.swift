// Unavailable members of models and their parts, with their replacements.
public import Foundation

extension NSManagedObjectModel {
  /// Unavailable: names are not localized.
  @available(*, unavailable, message: "errors use the model's names of entities and properties; localize them in the user interface")
  public var localizationDictionary: [String: String]? {
    get { nil }
    set {}
  }
  /// Unavailable: `entityVersionHashesByName` identifies a version.
  ///
  /// - Throws: Nothing, because it cannot be called.
  @available(*, unavailable, message: "compare entityVersionHashesByName")
  public static func checksumsForVersionedModel(at modelURL: URL) throws -> [String: String] { [:] }
}

extension NSEntityDescription {
  /// Unavailable: deprecated in Core Data.
  @available(*, unavailable, message: "use indexes")
  public var compoundIndexes: [[Any]] {
    get { [] }
    set {}
  }
}

extension NSPropertyDescription {
  /// Unavailable: validation rules are read from the model file.
  @available(*, unavailable, message: "declare the rules in the model file, or override validateForInsert and similar methods")
  public var validationPredicates: [NSPredicate] { [] }
  /// Unavailable: validation rules are read from the model file.
  @available(*, unavailable, message: "declare the rules in the model file, or override validateForInsert and similar methods")
  public var validationWarnings: [Any] { [] }
  /// Unavailable: validation rules are read from the model file.
  ///
  /// - Parameters:
  ///   - validationPredicates: The rules.
  ///   - validationWarnings: The messages for values that violate them.
  @available(*, unavailable, message: "declare the rules in the model file, or override validateForInsert and similar methods")
  public func setValidationPredicates(
    _ validationPredicates: [NSPredicate]?, withValidationWarnings validationWarnings: [String]?
  ) {}
  /// Unavailable: only entities have version hashes.
  @available(*, unavailable, message: "compare the entity's versionHash")
  public var versionHash: Data { Data() }
  /// Unavailable: deprecated in Core Data.
  @available(*, unavailable, message: "there are no external records; remove it")
  public var isStoredInExternalRecord: Bool {
    get { false }
    set {}
  }
}
