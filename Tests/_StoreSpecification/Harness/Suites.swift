extension StoreSpecification {
  /// The suites for stores, which use the public contract.
  public static var storeSuites: [StoreSpecification.Type] {
    [
      SavingSpecification.self, IdentitySpecification.self, RelationshipSpecification.self, OrderingSpecification.self,
      ConflictSpecification.self, ConstraintSpecification.self, FetchingSpecification.self, AggregateSpecification.self,
      GroupingSpecification.self, PredicateSpecification.self, ExpressionSpecification.self, IndexSpecification.self,
      FullTextSpecification.self, InheritanceSpecification.self, NameSpecification.self, InjectionSpecification.self,
      LifecycleSpecification.self,
      TransactionSpecification.self, GenerationSpecification.self,
      BatchInsertSpecification.self, BatchUpdateSpecification.self, BatchDeleteSpecification.self,
    ]
  }

  /// The suites for stores with a history and stable IDs.
  public static var historySuites: [StoreSpecification.Type] {
    [HistorySpecification.self, HistoryTokenSpecification.self, StableIDSpecification.self, HistoryReplicaSpecification.self]
  }

  /// The suites for managed objects on a store.
  public static var objectSuites: [StoreSpecification.Type] {
    [
      UniquingSpecification.self, FaultingSpecification.self, ContextSavingSpecification.self, GraphSpecification.self,
      DeleteRuleSpecification.self, OneSidedInverseSpecification.self, PendingChangesSpecification.self,
      PendingRelationshipsSpecification.self, MergePolicySpecification.self,
      MergedRelationshipSpecification.self, RandomMergeSpecification.self,
      ConstraintMergeSpecification.self, CompositeSpecification.self, ExternalDataSpecification.self, DerivedAttributeSpecification.self,
      DerivedFilterSpecification.self, QueryGenerationSpecification.self, NestingSpecification.self,
      LiveResultsSpecification.self, UndoSpecification.self, RandomUndoSpecification.self,
      SnapshotSpecification.self, DeletedMemberSpecification.self, DeletedDestinationSpecification.self, RequestBoundsSpecification.self,
      SpecialNumberSpecification.self,
      DoublesInDecimalsSpecification.self, DeletedOwnerSpecification.self, TransactionObserverSpecification.self,
      ChangeReplicaSpecification.self,
    ]
  }
}
