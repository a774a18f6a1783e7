import sys; sys.path.insert(0,'src')
import numpy as np, time, warnings
from sklearn.decomposition import PCA as S, TruncatedSVD as ST
from fivefold.decomposition import PCA as F, TruncatedSVD as FT
import scipy.sparse as sp
try:
    from sklearnex.decomposition import PCA as E
except ImportError:
    E = S; print('no sklearnex: third column is sklearn again')
rng=np.random.default_rng(0)
def run(name, X, r, *ms, fit='fit'):
    ts=[[] for _ in ms]
    for m in ms: getattr(m,fit)(X)
    for i in range(r):
        for t,m in zip(ts,ms):
            a=time.perf_counter(); getattr(m,fit)(X); t.append(time.perf_counter()-a)
    print(name, fit, *(f"{np.median(t)*1e3:.1f}({min(t)*1e3:.1f})" for t in ts), 'ratios', *(f"{np.median(t)/np.median(ts[0]):.2f}" for t in ts[1:]))
X=rng.normal(size=(200_000,50))@rng.normal(size=(50,50))
for fit in ('fit','fit_transform','transform'): run('200kx50', X, 9, F(10).fit(X),S(10).fit(X),E(10).fit(X), fit=fit)
Xf=X.astype(np.float32)
for fit in ('fit','transform'): run('200kx50 f32', Xf, 9, F(10).fit(Xf),S(10).fit(Xf),E(10).fit(Xf), fit=fit)
X=rng.normal(size=(20_000,300)); run('20kx300', X, 5, F(10),S(10),E(10))
X=rng.normal(size=(400,10_000)); run('400x10k k=10', X, 3, F(10),S(10)); run('400x10k None', X, 3, F(),S())
X=rng.normal(size=(3000,1500)); run('3000x1500 k=10 rand', X, 3, F(10,random_state=0),S(10,random_state=0))
X=rng.normal(size=(400,300)); run('400x300 full', X, 3, F(10,random_state=0),S(10,random_state=0))
X=rng.normal(size=(150,4)); run('150x4', X, 30, F(2),S(2)); run('150x4', X, 30, F(2).fit(X),S(2).fit(X),fit='transform')
X=sp.random_array((20000,5000),density=0.01,rng=rng).tocsr(); run('tsvd sparse 20kx5k', X, 3, FT(50,random_state=0),ST(50,random_state=0))
X=sp.random_array((500,20000),density=0.01,rng=rng).tocsr(); run('tsvd sparse 500x20k gram', X, 3, FT(50,algorithm='gram'),ST(50,random_state=0))
