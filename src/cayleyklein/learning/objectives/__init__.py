"""Objectives: functions of distances with gradients in (L, μ, K), one file each."""
