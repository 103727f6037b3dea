public import Foundation

/// A value is invalid.
public var NSManagedObjectValidationError: Int { 1550 }
/// A uniqueness constraint is violated.
public var NSManagedObjectConstraintValidationError: Int { 1551 }
/// Several values are invalid; ``NSDetailedErrorsKey`` contains the errors.
public var NSValidationMultipleErrorsError: Int { 1560 }
/// A required value is missing.
public var NSValidationMissingMandatoryPropertyError: Int { 1570 }
/// A relationship has too few objects.
public var NSValidationRelationshipLacksMinimumCountError: Int { 1580 }
/// A relationship has too many objects.
public var NSValidationRelationshipExceedsMaximumCountError: Int { 1590 }
/// A delete rule denies the deletion.
public var NSValidationRelationshipDeniedDeleteError: Int { 1600 }
/// A number is too large.
public var NSValidationNumberTooLargeError: Int { 1610 }
/// A number is too small.
public var NSValidationNumberTooSmallError: Int { 1620 }
/// A date is too late.
public var NSValidationDateTooLateError: Int { 1630 }
/// A date is too early.
public var NSValidationDateTooSoonError: Int { 1640 }
/// A date is invalid.
public var NSValidationInvalidDateError: Int { 1650 }
/// A string is too long.
public var NSValidationStringTooLongError: Int { 1660 }
/// A string is too short.
public var NSValidationStringTooShortError: Int { 1670 }
/// A string does not match its pattern.
public var NSValidationStringPatternMatchingError: Int { 1680 }
/// A URI is invalid.
public var NSValidationInvalidURIError: Int { 1690 }
/// A context could not be locked.
public var NSManagedObjectContextLockingError: Int { 132_000 }
/// A coordinator could not be locked.
public var NSPersistentStoreCoordinatorLockingError: Int { 132_010 }
/// The object's row does not exist.
public var NSManagedObjectReferentialIntegrityError: Int { 133_000 }
/// A relationship refers to an object in another store.
public var NSManagedObjectExternalRelationshipError: Int { 133_010 }
/// A row was changed since it was read.
public var NSManagedObjectMergeError: Int { 133_020 }
/// A uniqueness constraint is violated.
public var NSManagedObjectConstraintMergeError: Int { 133_021 }
/// The store type is unknown.
public var NSPersistentStoreInvalidTypeError: Int { 134_000 }
/// The store has a different type.
public var NSPersistentStoreTypeMismatchError: Int { 134_010 }
/// The store has a different schema.
public var NSPersistentStoreIncompatibleSchemaError: Int { 134_020 }
/// Saving to the store failed.
public var NSPersistentStoreSaveError: Int { 134_030 }
/// Saving to some of the stores failed.
public var NSPersistentStoreIncompleteSaveError: Int { 134_040 }
/// The save has unresolved conflicts.
public var NSPersistentStoreSaveConflictsError: Int { 134_050 }
/// An error without a more specific code.
public var NSCoreDataError: Int { 134_060 }
/// A store operation failed.
public var NSPersistentStoreOperationError: Int { 134_070 }
/// The store cannot be opened.
public var NSPersistentStoreOpenError: Int { 134_080 }
/// The store was locked for too long.
public var NSPersistentStoreTimeoutError: Int { 134_090 }
/// The store does not support the request.
public var NSPersistentStoreUnsupportedRequestTypeError: Int { 134_091 }
/// The store was created with a different model.
public var NSPersistentStoreIncompatibleVersionHashError: Int { 134_100 }
/// The migration failed.
public var NSMigrationError: Int { 134_110 }
/// The migration would violate a uniqueness constraint.
public var NSMigrationConstraintViolationError: Int { 134_111 }
/// The migration was canceled.
public var NSMigrationCancelledError: Int { 134_120 }
/// The store's model cannot be found.
public var NSMigrationMissingSourceModelError: Int { 134_130 }
/// No mapping to the model can be found.
public var NSMigrationMissingMappingModelError: Int { 134_140 }
/// The source store of a migration failed.
public var NSMigrationManagerSourceStoreError: Int { 134_150 }
/// The destination store of a migration failed.
public var NSMigrationManagerDestinationStoreError: Int { 134_160 }
/// An entity migration policy failed.
public var NSEntityMigrationPolicyError: Int { 134_170 }
/// The database reported an error.
public var NSSQLiteError: Int { 134_180 }
/// The mapping to the model cannot be inferred.
public var NSInferredMappingModelError: Int { 134_190 }
/// A record could not be imported.
public var NSExternalRecordImportError: Int { 134_200 }
/// The history that the token refers to was deleted.
public var NSPersistentHistoryTokenExpiredError: Int { 134_301 }

extension CocoaError.Code {
  /// A value is invalid.
  public static var managedObjectValidation: CocoaError.Code { CocoaError.Code(rawValue: NSManagedObjectValidationError) }
  /// A uniqueness constraint is violated.
  public static var managedObjectConstraintValidation: CocoaError.Code {
    CocoaError.Code(rawValue: NSManagedObjectConstraintValidationError)
  }
  /// Several values are invalid; ``NSDetailedErrorsKey`` contains the errors.
  public static var validationMultipleErrors: CocoaError.Code { CocoaError.Code(rawValue: NSValidationMultipleErrorsError) }
  /// A required value is missing.
  public static var validationMissingMandatoryProperty: CocoaError.Code {
    CocoaError.Code(rawValue: NSValidationMissingMandatoryPropertyError)
  }
  /// A relationship has too few objects.
  public static var validationRelationshipLacksMinimumCount: CocoaError.Code {
    CocoaError.Code(rawValue: NSValidationRelationshipLacksMinimumCountError)
  }
  /// A relationship has too many objects.
  public static var validationRelationshipExceedsMaximumCount: CocoaError.Code {
    CocoaError.Code(rawValue: NSValidationRelationshipExceedsMaximumCountError)
  }
  /// A delete rule denies the deletion.
  public static var validationRelationshipDeniedDelete: CocoaError.Code {
    CocoaError.Code(rawValue: NSValidationRelationshipDeniedDeleteError)
  }
  /// A number is too large.
  public static var validationNumberTooLarge: CocoaError.Code { CocoaError.Code(rawValue: NSValidationNumberTooLargeError) }
  /// A number is too small.
  public static var validationNumberTooSmall: CocoaError.Code { CocoaError.Code(rawValue: NSValidationNumberTooSmallError) }
  /// A date is too late.
  public static var validationDateTooLate: CocoaError.Code { CocoaError.Code(rawValue: NSValidationDateTooLateError) }
  /// A date is too early.
  public static var validationDateTooSoon: CocoaError.Code { CocoaError.Code(rawValue: NSValidationDateTooSoonError) }
  /// A date is invalid.
  public static var validationInvalidDate: CocoaError.Code { CocoaError.Code(rawValue: NSValidationInvalidDateError) }
  /// A string is too long.
  public static var validationStringTooLong: CocoaError.Code { CocoaError.Code(rawValue: NSValidationStringTooLongError) }
  /// A string is too short.
  public static var validationStringTooShort: CocoaError.Code { CocoaError.Code(rawValue: NSValidationStringTooShortError) }
  /// A string does not match its pattern.
  public static var validationStringPatternMatching: CocoaError.Code { CocoaError.Code(rawValue: NSValidationStringPatternMatchingError) }
  /// A URI is invalid.
  public static var validationInvalidURI: CocoaError.Code { CocoaError.Code(rawValue: NSValidationInvalidURIError) }
  /// A context could not be locked.
  public static var managedObjectContextLocking: CocoaError.Code { CocoaError.Code(rawValue: NSManagedObjectContextLockingError) }
  /// A coordinator could not be locked.
  public static var persistentStoreCoordinatorLocking: CocoaError.Code {
    CocoaError.Code(rawValue: NSPersistentStoreCoordinatorLockingError)
  }
  /// The object's row does not exist.
  public static var managedObjectReferentialIntegrity: CocoaError.Code {
    CocoaError.Code(rawValue: NSManagedObjectReferentialIntegrityError)
  }
  /// A relationship refers to an object in another store.
  public static var managedObjectExternalRelationship: CocoaError.Code {
    CocoaError.Code(rawValue: NSManagedObjectExternalRelationshipError)
  }
  /// A row was changed since it was read.
  public static var managedObjectMerge: CocoaError.Code { CocoaError.Code(rawValue: NSManagedObjectMergeError) }
  /// A uniqueness constraint is violated.
  public static var managedObjectConstraintMerge: CocoaError.Code { CocoaError.Code(rawValue: NSManagedObjectConstraintMergeError) }
  /// The store type is unknown.
  public static var persistentStoreInvalidType: CocoaError.Code { CocoaError.Code(rawValue: NSPersistentStoreInvalidTypeError) }
  /// The store has a different type.
  public static var persistentStoreTypeMismatch: CocoaError.Code { CocoaError.Code(rawValue: NSPersistentStoreTypeMismatchError) }
  /// The store has a different schema.
  public static var persistentStoreIncompatibleSchema: CocoaError.Code {
    CocoaError.Code(rawValue: NSPersistentStoreIncompatibleSchemaError)
  }
  /// Saving to the store failed.
  public static var persistentStoreSave: CocoaError.Code { CocoaError.Code(rawValue: NSPersistentStoreSaveError) }
  /// Saving to some of the stores failed.
  public static var persistentStoreIncompleteSave: CocoaError.Code { CocoaError.Code(rawValue: NSPersistentStoreIncompleteSaveError) }
  /// The save has unresolved conflicts.
  public static var persistentStoreSaveConflicts: CocoaError.Code { CocoaError.Code(rawValue: NSPersistentStoreSaveConflictsError) }
  /// An error without a more specific code.
  public static var coreData: CocoaError.Code { CocoaError.Code(rawValue: NSCoreDataError) }
  /// A store operation failed.
  public static var persistentStoreOperation: CocoaError.Code { CocoaError.Code(rawValue: NSPersistentStoreOperationError) }
  /// The store cannot be opened.
  public static var persistentStoreOpen: CocoaError.Code { CocoaError.Code(rawValue: NSPersistentStoreOpenError) }
  /// The store was locked for too long.
  public static var persistentStoreTimeout: CocoaError.Code { CocoaError.Code(rawValue: NSPersistentStoreTimeoutError) }
  /// The store does not support the request.
  public static var persistentStoreUnsupportedRequestType: CocoaError.Code {
    CocoaError.Code(rawValue: NSPersistentStoreUnsupportedRequestTypeError)
  }
  /// The store was created with a different model.
  public static var persistentStoreIncompatibleVersionHash: CocoaError.Code {
    CocoaError.Code(rawValue: NSPersistentStoreIncompatibleVersionHashError)
  }
  /// The migration failed.
  public static var migration: CocoaError.Code { CocoaError.Code(rawValue: NSMigrationError) }
  /// The migration would violate a uniqueness constraint.
  public static var migrationConstraintViolation: CocoaError.Code { CocoaError.Code(rawValue: NSMigrationConstraintViolationError) }
  /// The migration was canceled.
  public static var migrationCancelled: CocoaError.Code { CocoaError.Code(rawValue: NSMigrationCancelledError) }
  /// The store's model cannot be found.
  public static var migrationMissingSourceModel: CocoaError.Code { CocoaError.Code(rawValue: NSMigrationMissingSourceModelError) }
  /// No mapping to the model can be found.
  public static var migrationMissingMappingModel: CocoaError.Code { CocoaError.Code(rawValue: NSMigrationMissingMappingModelError) }
  /// The source store of a migration failed.
  public static var migrationManagerSourceStore: CocoaError.Code { CocoaError.Code(rawValue: NSMigrationManagerSourceStoreError) }
  /// The destination store of a migration failed.
  public static var migrationManagerDestinationStore: CocoaError.Code { CocoaError.Code(rawValue: NSMigrationManagerDestinationStoreError) }
  /// An entity migration policy failed.
  public static var entityMigrationPolicy: CocoaError.Code { CocoaError.Code(rawValue: NSEntityMigrationPolicyError) }
  /// The database reported an error.
  public static var sqlite: CocoaError.Code { CocoaError.Code(rawValue: NSSQLiteError) }
  /// The mapping to the model cannot be inferred.
  public static var inferredMappingModel: CocoaError.Code { CocoaError.Code(rawValue: NSInferredMappingModelError) }
  /// A record could not be imported.
  public static var externalRecordImport: CocoaError.Code { CocoaError.Code(rawValue: NSExternalRecordImportError) }
  /// The history that the token refers to was deleted.
  public static var persistentHistoryTokenExpired: CocoaError.Code { CocoaError.Code(rawValue: NSPersistentHistoryTokenExpiredError) }
}

extension CocoaError {
  /// A value is invalid.
  public static var managedObjectValidation: CocoaError.Code { .managedObjectValidation }
  /// A uniqueness constraint is violated.
  public static var managedObjectConstraintValidation: CocoaError.Code { .managedObjectConstraintValidation }
  /// Several values are invalid; ``NSDetailedErrorsKey`` contains the errors.
  public static var validationMultipleErrors: CocoaError.Code { .validationMultipleErrors }
  /// A required value is missing.
  public static var validationMissingMandatoryProperty: CocoaError.Code { .validationMissingMandatoryProperty }
  /// A relationship has too few objects.
  public static var validationRelationshipLacksMinimumCount: CocoaError.Code { .validationRelationshipLacksMinimumCount }
  /// A relationship has too many objects.
  public static var validationRelationshipExceedsMaximumCount: CocoaError.Code { .validationRelationshipExceedsMaximumCount }
  /// A delete rule denies the deletion.
  public static var validationRelationshipDeniedDelete: CocoaError.Code { .validationRelationshipDeniedDelete }
  /// A number is too large.
  public static var validationNumberTooLarge: CocoaError.Code { .validationNumberTooLarge }
  /// A number is too small.
  public static var validationNumberTooSmall: CocoaError.Code { .validationNumberTooSmall }
  /// A date is too late.
  public static var validationDateTooLate: CocoaError.Code { .validationDateTooLate }
  /// A date is too early.
  public static var validationDateTooSoon: CocoaError.Code { .validationDateTooSoon }
  /// A date is invalid.
  public static var validationInvalidDate: CocoaError.Code { .validationInvalidDate }
  /// A string is too long.
  public static var validationStringTooLong: CocoaError.Code { .validationStringTooLong }
  /// A string is too short.
  public static var validationStringTooShort: CocoaError.Code { .validationStringTooShort }
  /// A string does not match its pattern.
  public static var validationStringPatternMatching: CocoaError.Code { .validationStringPatternMatching }
  /// A URI is invalid.
  public static var validationInvalidURI: CocoaError.Code { .validationInvalidURI }
  /// A context could not be locked.
  public static var managedObjectContextLocking: CocoaError.Code { .managedObjectContextLocking }
  /// A coordinator could not be locked.
  public static var persistentStoreCoordinatorLocking: CocoaError.Code { .persistentStoreCoordinatorLocking }
  /// The object's row does not exist.
  public static var managedObjectReferentialIntegrity: CocoaError.Code { .managedObjectReferentialIntegrity }
  /// A relationship refers to an object in another store.
  public static var managedObjectExternalRelationship: CocoaError.Code { .managedObjectExternalRelationship }
  /// A row was changed since it was read.
  public static var managedObjectMerge: CocoaError.Code { .managedObjectMerge }
  /// A uniqueness constraint is violated.
  public static var managedObjectConstraintMerge: CocoaError.Code { .managedObjectConstraintMerge }
  /// The store type is unknown.
  public static var persistentStoreInvalidType: CocoaError.Code { .persistentStoreInvalidType }
  /// The store has a different type.
  public static var persistentStoreTypeMismatch: CocoaError.Code { .persistentStoreTypeMismatch }
  /// The store has a different schema.
  public static var persistentStoreIncompatibleSchema: CocoaError.Code { .persistentStoreIncompatibleSchema }
  /// Saving to the store failed.
  public static var persistentStoreSave: CocoaError.Code { .persistentStoreSave }
  /// Saving to some of the stores failed.
  public static var persistentStoreIncompleteSave: CocoaError.Code { .persistentStoreIncompleteSave }
  /// The save has unresolved conflicts.
  public static var persistentStoreSaveConflicts: CocoaError.Code { .persistentStoreSaveConflicts }
  /// An error without a more specific code.
  public static var coreData: CocoaError.Code { .coreData }
  /// A store operation failed.
  public static var persistentStoreOperation: CocoaError.Code { .persistentStoreOperation }
  /// The store cannot be opened.
  public static var persistentStoreOpen: CocoaError.Code { .persistentStoreOpen }
  /// The store was locked for too long.
  public static var persistentStoreTimeout: CocoaError.Code { .persistentStoreTimeout }
  /// The store does not support the request.
  public static var persistentStoreUnsupportedRequestType: CocoaError.Code { .persistentStoreUnsupportedRequestType }
  /// The store was created with a different model.
  public static var persistentStoreIncompatibleVersionHash: CocoaError.Code { .persistentStoreIncompatibleVersionHash }
  /// The migration failed.
  public static var migration: CocoaError.Code { .migration }
  /// The migration would violate a uniqueness constraint.
  public static var migrationConstraintViolation: CocoaError.Code { .migrationConstraintViolation }
  /// The migration was canceled.
  public static var migrationCancelled: CocoaError.Code { .migrationCancelled }
  /// The store's model cannot be found.
  public static var migrationMissingSourceModel: CocoaError.Code { .migrationMissingSourceModel }
  /// No mapping to the model can be found.
  public static var migrationMissingMappingModel: CocoaError.Code { .migrationMissingMappingModel }
  /// The source store of a migration failed.
  public static var migrationManagerSourceStore: CocoaError.Code { .migrationManagerSourceStore }
  /// The destination store of a migration failed.
  public static var migrationManagerDestinationStore: CocoaError.Code { .migrationManagerDestinationStore }
  /// An entity migration policy failed.
  public static var entityMigrationPolicy: CocoaError.Code { .entityMigrationPolicy }
  /// The database reported an error.
  public static var sqlite: CocoaError.Code { .sqlite }
  /// The mapping to the model cannot be inferred.
  public static var inferredMappingModel: CocoaError.Code { .inferredMappingModel }
  /// A record could not be imported.
  public static var externalRecordImport: CocoaError.Code { .externalRecordImport }
  /// The history that the token refers to was deleted.
  public static var persistentHistoryTokenExpired: CocoaError.Code { .persistentHistoryTokenExpired }
}
