// CipherData: what an application sees, by one import.
//
// Modules whose every public declaration is an application's are exported whole. Of the others each type is exported by name: what is not named here is seen by
// those who write a store, by `import CipherDataEngine`. Members and extensions come with the type that they belong to. Operators do not, which is why modules that
// declare any are exported whole.
@_exported public import ObjectContext
@_exported public import ObjectQuery
@_exported public import StoreKeys

// The model, and its description.
@_exported public import struct ObjectModel.Attribute
@_exported public import struct ObjectModel.AttributeDescription
@_exported public import enum ObjectModel.AttributeTransformError
@_exported public import protocol ObjectModel.AttributeTransformer
@_exported public import enum ObjectModel.AttributeTransformers
@_exported public import enum ObjectModel.AttributeType
@_exported public import struct ObjectModel.AttributeValidation
@_exported public import protocol ObjectModel.AttributeValue
@_exported public import enum ObjectModel.CodeGenerationType
@_exported public import enum ObjectModel.ComponentBuilder
@_exported public import struct ObjectModel.Composite
@_exported public import struct ObjectModel.CompositeDescription
@_exported public import struct ObjectModel.Configuration
@_exported public import enum ObjectModel.DeleteRule
@_exported public import struct ObjectModel.Entity
@_exported public import typealias ObjectModel.EntityBuilder
@_exported public import protocol ObjectModel.EntityComponent
@_exported public import struct ObjectModel.EntityDescription
@_exported public import struct ObjectModel.FetchIndexDescription
@_exported public import struct ObjectModel.FetchIndexElement
@_exported public import struct ObjectModel.FetchRequestTemplate
@_exported public import enum ObjectModel.FetchResultType
@_exported public import struct ObjectModel.FetchTemplate
@_exported public import struct ObjectModel.FetchedProperty
@_exported public import struct ObjectModel.FetchedPropertyDescription
@_exported public import struct ObjectModel.Index
@_exported public import struct ObjectModel.ManagedObjectID
@_exported public import struct ObjectModel.ManagedObjectModel
@_exported public import typealias ObjectModel.ModelBuilder
@_exported public import struct ObjectModel.ModelChange
@_exported public import protocol ObjectModel.ModelComponent
@_exported public import struct ObjectModel.ModelConfiguration
@_exported public import struct ObjectModel.ModelFileError
@_exported public import struct ObjectModel.ModelIssue
@_exported public import enum ObjectModel.ModelMergeError
@_exported public import struct ObjectModel.ModelValidationError
@_exported public import enum ObjectModel.PropertyDescription
@_exported public import struct ObjectModel.Relationship
@_exported public import struct ObjectModel.RelationshipDescription
@_exported public import enum ObjectModel.Slot
@_exported public import enum ObjectModel.SyncMergeFunctions
@_exported public import enum ObjectModel.SyncMergeRule
@_exported public import struct ObjectModel.Unique
@_exported public import protocol ObjectModel.ValidationBounds
@_exported public import struct ObjectModel.VersionedModel

// Stores, requests and errors; not the contract that a store fulfils.
@_exported public import enum ObjectStore.BatchCommit
@_exported public import enum ObjectStore.BatchConflictPolicy
@_exported public import struct ObjectStore.BatchDeleteRequest
@_exported public import struct ObjectStore.BatchError
@_exported public import struct ObjectStore.BatchInsertRequest
@_exported public import struct ObjectStore.BatchResult
@_exported public import enum ObjectStore.BatchResultType
@_exported public import struct ObjectStore.BatchUpdateRequest
@_exported public import struct ObjectStore.ChangeSet
@_exported public import struct ObjectStore.ChangedLinks
@_exported public import struct ObjectStore.ChangedOrder
@_exported public import struct ObjectStore.ChangedRow
@_exported public import struct ObjectStore.ConstraintConflict
@_exported public import struct ObjectStore.ExternalData
@_exported public import struct ObjectStore.ExternalDataChunks
@_exported public import class ObjectStore.ExternalDataReader
@_exported public import class ObjectStore.ExternalDataWriter
@_exported public import struct ObjectStore.FetchExplanation
@_exported public import enum ObjectStore.HistoryLevel
@_exported public import struct ObjectStore.HistoryObserver
@_exported public import enum ObjectStore.HistoryRetention
@_exported public import class ObjectStore.ManagedObjectModelReference
@_exported public import struct ObjectStore.MergeConflict
@_exported public import struct ObjectStore.MigrationPlan
@_exported public import struct ObjectStore.MigrationProgress
@_exported public import struct ObjectStore.MissingTransformer
@_exported public import struct ObjectStore.ObservedTransaction
@_exported public import struct ObjectStore.PersistentHistoryChange
@_exported public import struct ObjectStore.PersistentHistoryChangeRequest
@_exported public import struct ObjectStore.PersistentHistoryConsumer
@_exported public import struct ObjectStore.PersistentHistoryResult
@_exported public import enum ObjectStore.PersistentHistoryResultType
@_exported public import struct ObjectStore.PersistentHistorySequence
@_exported public import struct ObjectStore.PersistentHistoryToken
@_exported public import struct ObjectStore.PersistentHistoryTransaction
@_exported public import class ObjectStore.PersistentStore
@_exported public import class ObjectStore.PersistentStoreCoordinator
@_exported public import struct ObjectStore.PersistentStoreDescription
@_exported public import struct ObjectStore.QueryGeneration
@_exported public import struct ObjectStore.QueryGenerationToken
@_exported public import struct ObjectStore.RecordedValues
@_exported public import struct ObjectStore.RemoteStoreChange
@_exported public import class ObjectStore.RequestCancellation
@_exported public import enum ObjectStore.RowChange
@_exported public import struct ObjectStore.RowSnapshot
@_exported public import struct ObjectStore.RowValues
@_exported public import struct ObjectStore.SchemaChange
@_exported public import struct ObjectStore.StoreError
@_exported public import struct ObjectStore.StoreMetadata
@_exported public import struct ObjectStore.StoreOperation
@_exported public import struct ObjectStore.StoreType
@_exported public import protocol ObjectStore.TransactionObserver
@_exported public import struct ObjectStore.TransactionObserverOptions

// The encrypted store.
@_exported public import struct SQLCipherStore.ObservedStatement
@_exported public import class SQLCipherStore.SQLCipherStoreFile
@_exported public import class SQLCipherStore.SQLObserver
@_exported public import struct SQLCipherStore.StoreCompaction
@_exported public import enum SQLCipherStore.StoreDurability
@_exported public import struct SQLCipherStore.StoreFileInformation
@_exported public import struct SQLCipherStore.StoreFinding
@_exported public import enum SQLCipherStore.StoreVerificationLevel
